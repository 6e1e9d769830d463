// The routes of buying Credits, for people with a session: offers, purchases and their documents.
// The API host takes the session as a Bearer token, the web host in its cookie; the rows are the
// same. Constants; any Thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <turnpike/processor.h>

#include "hosts/account_reads.h"
#include "hosts/client_address.h"
#include "hosts/route.h"

namespace turnpike::hosts::account {

// The objects that the handlers use; all outlive the host. Without a shop there are no offers and
// no purchases, and the routes refuse accordingly.
struct PurchaseRooms {
  const AccountReads& account;
  const ClientAddress& clients;
};

std::span<const Route<PurchaseRooms>> purchase_routes() noexcept;

// Reads the name of a document in a path: "invoice_pdf". Error: purchase.document_unknown.
Result<PaymentDocument, base::Error> read_document_kind(std::string_view name);

// Redirects with 303 to a page or a file of a payment service; the redirect is not cached.
void send_to_payment_service(Turn& turn, std::string_view url);

}  // namespace turnpike::hosts::account
