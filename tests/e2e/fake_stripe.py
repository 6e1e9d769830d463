"""A fake Stripe on loopback: customers, Checkout Sessions with the page where a person pays,
PaymentIntents, refunds, disputes, events, and webhooks that it signs and sends. It implements what
the stripe plugin needs of Stripe's API and refuses everything else. tests/stripe checks its replies
against the types of Stripe's own client.

Everything is deterministic: ids are counters, and nothing happens that a test does not ask for.
Commands (pay, decline, refund, dispute, ...) act as the outside world does. Faults of calls (fault)
and of events (event_fault, event_rule) disturb the traffic between the fake and the gateway.
"""

import copy
import email.utils
import hashlib
import hmac
import html
import http.client
import http.server
import json
import queue
import re
import socket
import threading
import time
import urllib.parse

import fake_checkout
import stripe_objects as objects

VERSION = "2026-10-28.endive"
MINUTE = 60


class Refused(Exception):
    """An error as Stripe reports it."""

    def __init__(self, status, kind="invalid_request_error", keep=False, **members):
        super().__init__(members.get("code", kind))
        self.status = status
        self.keep = keep  # whether the Idempotency-Key keeps this reply
        self.error = {"type": kind, "message": "This is what people may read.", **members}


def nested(pairs):
    """Turns a[b][0]=c into {"a": {"b": ["c"]}}."""
    tree = {}
    for name, value in pairs:
        path = re.findall(r"[^\[\]]+", name)
        node = tree
        for word in path[:-1]:
            node = node.setdefault(word, {})
        node[path[-1]] = value

    def lists(node):
        if not isinstance(node, dict):
            return node
        if node and all(word.isdigit() for word in node):
            return [lists(node[word]) for word in sorted(node, key=int)]
        return {word: lists(value) for word, value in node.items()}

    return lists(tree)


def integer(params, name, least=None):
    try:
        value = int(params[name])
    except KeyError:
        raise Refused(400, code="parameter_missing", param=name) from None
    except ValueError:
        raise Refused(400, code="parameter_invalid_integer", param=name) from None
    if least is not None and value < least:
        raise Refused(400, code="amount_too_small", param=name)
    return value


def sign(secret, body, seconds):
    digest = hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


class Fault:
    """What happens to one call: "lost" (done, but the reply is not sent), "broken" (not done, and
    the connection breaks), "500_before" (not done), "500_after" (done), "409", "429", or "held" (in
    progress until release() is called; meanwhile its key is in use)."""

    def __init__(self, kind):
        self.kind = kind
        self.arrived = threading.Event()
        self.go_on = threading.Event()

    def release(self):
        self.go_on.set()


class FakeStripe:
    def __init__(self, key="rk_test_fake", webhook_secret="whsec_fake", tax_percent=0):
        self.key = key
        self.webhook_secret = webhook_secret
        self.tax_percent = tax_percent
        self.lock = threading.RLock()
        self.counts = {}
        self.objects = {}
        self.order = []  # ids in order of creation
        self.kept = {}  # by Idempotency-Key
        self.busy = set()  # keys of requests in progress
        self.faults = {}  # by route
        self.event_faults = {}  # by type
        self.event_rule = None  # event -> fault or None
        self.events = []
        self.requests = []
        self.delivered = []  # (event id, status of the answer)
        self.targets = []
        self.held = []
        self.offset = 0
        self.cards = {}  # payment method -> why its next charges are declined
        self.outbox = queue.Queue()
        self.connections = set()
        self.server = self._make_server()
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.threads = [threading.Thread(target=self.server.serve_forever, args=(0.05,)),
                        threading.Thread(target=self._deliver_all)]
        for thread in self.threads:
            thread.start()

    def close(self):
        """All threads of the fake have ended when this returns."""
        for waiting in [one for some in self.faults.values() for one in some]:
            waiting.release()
        self.outbox.put(None)
        self.server.shutdown()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.server.server_close()
        for thread in self.threads:
            thread.join()

    # ---- what a test sets up

    def now(self):
        return int(time.time()) + self.offset

    def advance(self, seconds):
        self.offset += seconds

    def send_webhooks_to(self, url, *, status="enabled", version=VERSION, types=("*",)):
        """Sends webhooks to the gateway's intake at `url`, and adds the endpoint that `check`
        finds."""
        with self.lock:
            self.targets.append(url)
            return self._new("we", objects.WEBHOOK_ENDPOINT, url=url, status=status,
                             api_version=version, enabled_events=list(types))

    def fault(self, route, kind, times=1):
        """Adds a fault to the next calls of `route` ("POST /v1/payment_intents/{id}/confirm")."""
        with self.lock:
            made = [Fault(kind) for _ in range(times)]
            self.faults.setdefault(route, []).extend(made)
            return made[0]

    def event_fault(self, kind, fault, times=1):
        """Adds a fault to the next events of a type: "drop", "double", "triple", "reorder" (sent
        after the next event), "late" (sent when release_events() is called), "wrong_secret"."""
        with self.lock:
            self.event_faults.setdefault(kind, []).extend([fault] * times)

    def release_events(self):
        with self.lock:
            held, self.held = self.held, []
        for event in held:
            self.outbox.put((event, self.webhook_secret))
        self.flush()

    def flush(self):
        """Returns when everything in the queue has been sent."""
        self.outbox.join()

    def of(self, kind):
        """All objects of a kind, in order of creation."""
        with self.lock:
            return [copy.deepcopy(self.objects[one]) for one in self.order
                    if self.objects[one]["object"] == kind]

    def calls(self, route):
        with self.lock:
            return [one for one in self.requests if one["route"] == route]

    # ---- what people, banks and the operator's dashboard do

    def session_of(self, purchase_id):
        """The newest session of a purchase or setup."""
        return [one for one in self.of("checkout.session")
                if one["client_reference_id"] == purchase_id][-1]["id"]

    def pay(self, session_id, last4="4242", delayed=False, brand="visa"):
        """A person pays, or saves a card. With `delayed`, the payment is still processing. Returns
        the id of the payment method."""
        with self.lock:
            session = self._open(session_id)
            method = self._card(last4, session["customer"], brand)
            session.update(status="complete", url=None)
            if session["mode"] == "setup":
                self._succeed_setup(session, method)
            else:
                intent = self._intent_of_session(session)
                intent["payment_method"] = method["id"]
                if not intent["setup_future_usage"]:
                    method["customer"] = None
                if delayed:
                    intent["status"] = "processing"
                else:
                    self._succeed(intent)
                    self._settle(session, intent)
            self._event("checkout.session.completed", session)
            return method["id"]

    def settle(self, session_id, succeeds=True):
        """Ends a delayed payment."""
        with self.lock:
            session = self.objects[session_id]
            intent = self.objects[session["payment_intent"]]
            if succeeds:
                self._succeed(intent)
                self._settle(session, intent)
                self._event("checkout.session.async_payment_succeeded", session)
            else:
                self._fail(intent, {"code": "payment_intent_payment_attempt_failed"})
                self._event("checkout.session.async_payment_failed", session)

    def decline(self, session_id, code="card_declined", **more):
        """The page declines a card; the person may try another."""
        with self.lock:
            session = self._open(session_id)
            if session["mode"] == "setup":
                self._fail_setup(session, {"code": code, **more})
            else:
                self._fail(self._intent_of_session(session), {"code": code, **more})

    def expire(self, session_id):
        with self.lock:
            session = self._open(session_id)
            session.update(status="expired", url=None)
            self._event("checkout.session.expired", session)

    def decline_card(self, method_id, code="card_declined", **more):
        """Every further charge of a saved card is declined until accept_card() is called."""
        with self.lock:
            self.cards[method_id] = {"code": code, **more}

    def require_3ds(self, method_id):
        self.decline_card(method_id, "authentication_required",
                          decline_code="authentication_required")

    def accept_card(self, method_id):
        with self.lock:
            self.cards.pop(method_id, None)

    def detach(self, method_id):
        with self.lock:
            self._detach(self.objects[method_id])

    def refund(self, payment_id, amount=None, status="succeeded"):
        """A refund made in the dashboard. Returns its id."""
        with self.lock:
            return self._refund(self.objects[payment_id], amount, status, {})["id"]

    def end_refund(self, refund_id, status):
        with self.lock:
            refund = self.objects[refund_id]
            refund["status"] = status
            if status == "failed":
                refund["failure_reason"] = "expired_or_canceled_card"
            self._event("refund.failed" if status == "failed" else "refund.updated", refund)

    def dispute(self, payment_id, status="needs_response"):
        with self.lock:
            intent = self.objects[payment_id]
            dispute = self._new("du", objects.DISPUTE, amount=intent["amount"],
                                charge=intent["latest_charge"], currency=intent["currency"],
                                payment_intent=payment_id, status=status)
            self._event("charge.dispute.created", dispute)
            if not status.startswith("warning_"):
                self._event("charge.dispute.funds_withdrawn", dispute)
            return dispute["id"]

    def end_dispute(self, dispute_id, status):
        """`status`: "won", "lost" or "warning_closed"."""
        with self.lock:
            dispute = self.objects[dispute_id]
            dispute["status"] = status
            self._event("charge.dispute.closed", dispute)
            if status == "won":
                self._event("charge.dispute.funds_reinstated", dispute)

    # ---- objects

    def _id(self, prefix):
        self.counts[prefix] = self.counts.get(prefix, 0) + 1
        return f"{prefix}_{self.counts[prefix]}"

    def _new(self, prefix, base, **members):
        made = {"id": self._id(prefix), "created": self.now(), "livemode": False,
                **copy.deepcopy(base), **members}
        if made["object"] == "refund":
            del made["livemode"]
        self.objects[made["id"]] = made
        self.order.append(made["id"])
        return made

    def _find(self, identifier, kind, param="id", status=404):
        found = self.objects.get(identifier)
        if found is None or found["object"] != kind:
            raise Refused(status, code="resource_missing", param=param)
        return found

    def _open(self, session_id):
        session = self._find(session_id, "checkout.session")
        self._expire_if_due(session)
        if session["status"] != "open":
            raise Refused(400)
        return session

    def _expire_if_due(self, session):
        if session["status"] == "open" and session["expires_at"] <= self.now():
            session.update(status="expired", url=None)
            self._event("checkout.session.expired", session)

    def _card(self, last4, customer, brand):
        return self._new("pm", objects.PAYMENT_METHOD, customer=customer, card={
            "brand": brand, "checks": None, "country": "US", "display_brand": brand,
            "exp_month": 12, "exp_year": 2034, "fingerprint": f"fingerprint{last4}",
            "funding": "credit", "generated_from": None, "last4": last4, "networks": None,
            "regulated_status": "unregulated", "three_d_secure_usage": None, "wallet": None})

    def _intent_of_session(self, session):
        if session["payment_intent"] is None:
            data = session.pop("_intent", {})
            intent = self._new("pi", objects.PAYMENT_INTENT, amount=session["amount_total"],
                               currency=session["currency"], customer=session["customer"],
                               status="requires_payment_method",
                               metadata=data.get("metadata", {}),
                               setup_future_usage=data.get("setup_future_usage"))
            session["payment_intent"] = intent["id"]
        return self.objects[session["payment_intent"]]

    def _charge(self, intent, paid, error=None):
        charge = self._new("ch", objects.CHARGE, amount=intent["amount"], paid=paid,
                           amount_captured=intent["amount"] if paid else 0, captured=paid,
                           currency=intent["currency"], customer=intent["customer"],
                           payment_intent=intent["id"], payment_method=intent["payment_method"],
                           status="succeeded" if paid else "failed")
        if paid:
            charge["receipt_url"] = f"{self.url}/receipts/{charge['id']}"
        else:
            charge["failure_code"] = error["code"]
        intent["latest_charge"] = charge["id"]
        return charge

    def _succeed(self, intent):
        self._charge(intent, True)
        intent.update(status="succeeded", amount_received=intent["amount"],
                      last_payment_error=None)
        self._event("payment_intent.succeeded", intent)

    def _fail(self, intent, error):
        charge = self._charge(intent, False, error)
        error = {"type": "card_error", "message": "This is what people may read.",
                 "charge": charge["id"], **error}
        intent.update(status="requires_payment_method", last_payment_error=error,
                      payment_method=None)
        self._event("payment_intent.payment_failed", intent)
        return error

    def _settle(self, session, intent):
        session["payment_status"] = "paid"
        if session["invoice_creation"] and session["invoice_creation"]["enabled"]:
            total = session["amount_total"]
            invoice = self._new("in", objects.INVOICE, currency=session["currency"],
                                customer=session["customer"], subtotal=session["amount_subtotal"],
                                total=total, amount_due=total, amount_paid=total, status="paid",
                                period_start=self.now(), period_end=self.now(), number="TEST-1")
            invoice["hosted_invoice_url"] = f"{self.url}/invoices/{invoice['id']}"
            invoice["invoice_pdf"] = f"{self.url}/invoices/{invoice['id']}/pdf"
            session["invoice"] = invoice["id"]

    def _setup_of_session(self, session):
        if session["setup_intent"] is None:
            data = session.pop("_intent", {})
            intent = self._new("seti", objects.SETUP_INTENT, customer=session["customer"],
                               status="requires_payment_method",
                               metadata=data.get("metadata", {}))
            session["setup_intent"] = intent["id"]
        return self.objects[session["setup_intent"]]

    def _succeed_setup(self, session, method):
        intent = self._setup_of_session(session)
        intent.update(status="succeeded", payment_method=method["id"], last_setup_error=None)
        self._event("setup_intent.succeeded", intent)

    def _fail_setup(self, session, error):
        intent = self._setup_of_session(session)
        intent["last_setup_error"] = {"type": "card_error",
                                      "message": "This is what people may read.", **error}
        self._event("setup_intent.setup_failed", intent)

    def _refund(self, intent, amount, status, metadata):
        given = sum(one["amount"] for one in self.of("refund")
                    if one["payment_intent"] == intent["id"] and
                    one["status"] not in ("failed", "canceled"))
        left = intent["amount_received"] - given
        amount = left if amount is None else amount
        if left <= 0:
            raise Refused(400, code="charge_already_refunded")
        if amount > left:
            raise Refused(400, code="amount_too_large", param="amount")
        refund = self._new("re", objects.REFUND, amount=amount, currency=intent["currency"],
                           charge=intent["latest_charge"], payment_intent=intent["id"],
                           status=status, metadata=metadata)
        self._event("refund.created", refund)
        return refund

    # ---- events and webhooks

    def _event(self, kind, about):
        event = {"id": self._id("evt"), "object": "event", "api_version": VERSION,
                 "created": self.now(), "livemode": False, "pending_webhooks": len(self.targets),
                 "request": {"id": None, "idempotency_key": None}, "type": kind,
                 "data": {"object": self._shown(about)}}
        self.events.append(event)
        waiting = self.event_faults.get(kind)
        fault = waiting.pop(0) if waiting else self.event_rule and self.event_rule(event)
        reordered = [one for one in self.held if one.get("_reordered")]
        if fault in ("late", "reorder"):
            self.held.append({**event, **({"_reordered": True} if fault == "reorder" else {})})
        else:
            secret = "whsec_of_somebody_else" if fault == "wrong_secret" else self.webhook_secret
            times = {"drop": 0, "double": 2, "triple": 3}.get(fault, 1)
            for _ in range(times):
                self.outbox.put((event, secret))
            for one in reordered:
                self.held.remove(one)
                self.outbox.put((one, self.webhook_secret))

    def _deliver_all(self):
        while True:
            job = self.outbox.get()
            if job is None:
                self.outbox.task_done()
                return
            event, secret = job
            event = {name: value for name, value in event.items() if name != "_reordered"}
            body = json.dumps(event).encode()
            for url in list(self.targets):
                self.delivered.append((event["id"], self._deliver(url, body, secret)))
            self.outbox.task_done()

    def _deliver(self, url, body, secret):
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=30)
        try:
            connection.request("POST", parts.path, body, {
                "Content-Type": "application/json; charset=utf-8",
                "Stripe-Signature": sign(secret, body, self.now())})
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def signed_event(self, kind, about, secret=None):
        """The body and signature header of an event that a test sends itself."""
        event = {"id": self._id("evt"), "object": "event", "api_version": VERSION,
                 "created": self.now(), "livemode": False, "pending_webhooks": 0,
                 "request": None, "type": kind, "data": {"object": about}}
        body = json.dumps(event).encode()
        return body, sign(secret or self.webhook_secret, body, self.now())

    # ---- the API

    def _shown(self, value):
        return {name: copy.deepcopy(each) for name, each in value.items()
                if not name.startswith("_")}

    def _expanded(self, value, paths):
        shown = self._shown(value)
        for path in paths:
            node = shown
            for word in path.split("."):
                if not isinstance(node, dict) or word not in node:
                    raise Refused(400, param="expand")
                if isinstance(node[word], str):
                    node[word] = self._shown(self.objects[node[word]])
                node = node[word]
                if node is None:
                    break
        return shown

    ROUTES = [
        ("POST", r"/v1/customers", "create_customer", "metadata email"),
        ("POST", r"/v1/checkout/sessions", "create_session",
         """mode customer client_reference_id success_url cancel_url expires_at line_items
         allowed_payment_method_types adaptive_pricing payment_intent_data setup_intent_data
         invoice_creation automatic_tax customer_update metadata currency"""),
        ("GET", r"/v1/checkout/sessions", "list_sessions", "limit"),
        ("GET", r"/v1/checkout/sessions/{id}", "get_session", "expand"),
        ("POST", r"/v1/checkout/sessions/{id}/expire", "expire_session", ""),
        ("POST", r"/v1/payment_intents", "create_intent",
         """amount currency customer payment_method automatic_payment_methods description
         metadata"""),
        ("GET", r"/v1/payment_intents/{id}", "get_intent", "expand"),
        ("POST", r"/v1/payment_intents/{id}/confirm", "confirm_intent",
         "off_session error_on_requires_action"),
        ("POST", r"/v1/payment_intents/{id}/cancel", "cancel_intent", ""),
        ("GET", r"/v1/payment_methods/{id}", "get_method", ""),
        ("POST", r"/v1/payment_methods/{id}/detach", "detach_method", ""),
        ("POST", r"/v1/refunds", "create_refund", "payment_intent amount reason metadata"),
        ("GET", r"/v1/refunds", "list_refunds", "payment_intent limit starting_after"),
        ("GET", r"/v1/disputes", "list_disputes", "payment_intent limit starting_after"),
        ("GET", r"/v1/events", "list_events", "types created limit starting_after"),
        ("GET", r"/v1/webhook_endpoints", "list_endpoints", "limit"),
    ]

    def _route(self, method, path):
        for row in self.ROUTES:
            pattern = row[1].replace("{id}", "([A-Za-z0-9_]+)")
            match = re.fullmatch(pattern, path)
            if match and row[0] == method:
                return row, match.groups()
        return None, ()

    def answer(self, method, target, headers, body):
        """(status, headers, reply), or None if the connection breaks."""
        path, _, query = target.partition("?")
        text = body.decode() if method == "POST" else query
        params = nested(urllib.parse.parse_qsl(text, keep_blank_values=True))
        row, identifiers = self._route(method, path)
        route = f"{method} {row[1]}" if row else f"{method} {path}"
        with self.lock:
            waiting = self.faults.get(route)
            fault = waiting.pop(0) if waiting else None
        kind = fault.kind if fault else ""
        if fault:
            fault.arrived.set()
        if kind == "broken":
            return None
        if kind == "held":
            key = headers.get("Idempotency-Key", "")
            self.busy.add(key)
            fault.go_on.wait()
            self.busy.discard(key)
        status, more, reply = self._under_key(row, route, identifiers, params, headers, kind)
        request_id = "req_%d" % (len(self.requests) + 1)
        with self.lock:
            self.requests.append({"route": route, "params": params, "status": status,
                                  "key": headers.get("Idempotency-Key", ""), "reply": reply,
                                  "fault": kind})
        if kind == "lost":
            return None
        return status, {"Request-Id": request_id, "Stripe-Version": VERSION, **more}, reply

    def _under_key(self, row, route, identifiers, params, headers, kind):
        key = headers.get("Idempotency-Key", "") if route.startswith("POST") else ""
        asked = json.dumps([route, identifiers, params], sort_keys=True)
        with self.lock:
            try:
                self._check(row, headers, kind)
                if key and key in self.busy:
                    raise Refused(409, "idempotency_error", code="idempotency_key_in_use")
                if key in self.kept:
                    before, status, reply = self.kept[key]
                    if before != asked:
                        raise Refused(400, "idempotency_error")
                    return status, {"Idempotent-Replayed": "true"}, copy.deepcopy(reply)
            except Refused as refused:
                return refused.status, {}, {"error": refused.error}
            status, reply, keep = self._do(row, identifiers, params, kind)
            if key and keep:
                self.kept[key] = (asked, status, copy.deepcopy(reply))
            return status, {}, reply

    def _check(self, row, headers, kind):
        if row is None:
            raise Refused(404)
        if headers.get("Authorization") != "Bearer " + self.key:
            # Stripe hides most of the key; the gateway must not rely on that.
            raise Refused(401, message="Invalid API Key provided: " +
                          headers.get("Authorization", "").removeprefix("Bearer "))
        if headers.get("Stripe-Version") != VERSION:
            raise Refused(400, param="Stripe-Version")
        if kind == "409":
            raise Refused(409, "idempotency_error", code="idempotency_key_in_use")
        if kind == "429":
            raise Refused(429, code="rate_limit")

    def _do(self, row, identifiers, params, kind):
        """(status, reply, whether the reply is kept under the Idempotency-Key)."""
        if kind == "500_before":
            return 500, {"error": {"type": "api_error"}}, True
        try:
            if "payment_method_types" in params:
                raise Refused(400, code="payment_method_types_no_longer_supported",
                              param="payment_method_types")
            for name in params:
                if name not in row[3].split():
                    raise Refused(400, code="parameter_unknown", param=name)
            reply = getattr(self, "_" + row[2])(params, *identifiers)
        except Refused as refused:
            return refused.status, {"error": refused.error}, refused.keep
        if kind == "500_after":
            return 500, {"error": {"type": "api_error"}}, True
        return 200, reply, True

    def _create_customer(self, params):
        return self._shown(self._new("cus", objects.CUSTOMER, email=params.get("email"),
                                     metadata=params.get("metadata", {})))

    def _create_session(self, params):
        if "customer" in params:
            self._find(params["customer"], "customer", "customer", 400)
        mode = params.get("mode")
        if mode not in ("payment", "setup"):
            raise Refused(400, code="parameter_missing", param="mode")
        if "success_url" not in params:
            raise Refused(400, code="parameter_missing", param="success_url")
        ends = int(params.get("expires_at", self.now() + 24 * 60 * MINUTE))
        if not 30 * MINUTE <= ends - self.now() <= 24 * 60 * MINUTE:
            raise Refused(400, param="expires_at")
        identifier = self._id("cs_test")
        session = {"id": identifier, "created": self.now(), "livemode": False,
                   **copy.deepcopy(objects.SESSION)}
        session.update(
            mode=mode, status="open", payment_status="unpaid", expires_at=ends,
            customer=params.get("customer"), metadata=params.get("metadata", {}),
            client_reference_id=params.get("client_reference_id"),
            success_url=params["success_url"], cancel_url=params.get("cancel_url"),
            allowed_payment_method_types=params.get("allowed_payment_method_types"),
            url=f"{self.url}/pay/{identifier}", ui_mode="hosted_page",
            _intent=params.get("payment_intent_data") or params.get("setup_intent_data") or {})
        if mode == "payment":
            self._price(session, params)
        else:
            session.update(payment_status="no_payment_required", currency=params.get("currency"))
        self.objects[identifier] = session
        self.order.append(identifier)
        return self._shown(session)

    def _price(self, session, params):
        if len(params.get("line_items", [])) != 1:
            raise Refused(400, code="parameter_missing", param="line_items")
        item = params["line_items"][0]
        price = item["price_data"]
        net = integer(price, "unit_amount", 50) * integer(item, "quantity", 1)
        computes = params.get("automatic_tax", {}).get("enabled") == "true"
        tax = net * self.tax_percent // 100 if computes else 0
        session.update(currency=price["currency"], amount_subtotal=net, amount_total=net + tax,
                       total_details={"amount_discount": 0, "amount_shipping": 0,
                                      "amount_tax": tax})
        session["_title"] = price["product_data"]["name"]
        session["automatic_tax"].update(enabled=computes,
                                        status="complete" if computes else None)
        session["adaptive_pricing"] = {
            "enabled": params.get("adaptive_pricing", {}).get("enabled", "true") == "true"}
        session["invoice_creation"] = {
            "enabled": params.get("invoice_creation", {}).get("enabled") == "true",
            "invoice_data": {"metadata": None, **objects.nulls(
                "account_tax_ids custom_fields description footer issuer rendering_options")}}

    def _list(self, path, found, params):
        limit = min(int(params.get("limit", 10)), 100)
        after = params.get("starting_after")
        if after is not None:
            names = [one["id"] for one in found]
            if after not in names:
                raise Refused(400, code="resource_missing", param="starting_after")
            found = found[names.index(after) + 1:]
        return {"object": "list", "url": path, "has_more": len(found) > limit,
                "data": [self._shown(one) for one in found[:limit]]}

    def _newest_of(self, kind, **members):
        return [one for one in reversed(self.of(kind))
                if all(one[name] == value for name, value in members.items())]

    def _list_sessions(self, params):
        return self._list("/v1/checkout/sessions", self._newest_of("checkout.session"), params)

    def _get_session(self, params, identifier):
        session = self._find(identifier, "checkout.session")
        self._expire_if_due(session)
        return self._expanded(session, params.get("expand", []))

    def _expire_session(self, params, identifier):
        session = self._open(identifier)
        session.update(status="expired", url=None)
        self._event("checkout.session.expired", session)
        return self._shown(session)

    def _create_intent(self, params):
        customer = self._find(params.get("customer"), "customer", "customer", 400)
        method = self._find(params.get("payment_method"), "payment_method", "payment_method", 400)
        if method["customer"] != customer["id"]:
            raise Refused(400, param="payment_method")
        automatic = params.get("automatic_payment_methods", {})
        return self._shown(self._new(
            "pi", objects.PAYMENT_INTENT, amount=integer(params, "amount", 50),
            currency=params["currency"], customer=customer["id"], payment_method=method["id"],
            description=params.get("description"), status="requires_confirmation",
            metadata=params.get("metadata", {}),
            automatic_payment_methods={"enabled": automatic.get("enabled") == "true",
                                       "allow_redirects": automatic.get("allow_redirects")}))

    def _get_intent(self, params, identifier):
        return self._expanded(self._find(identifier, "payment_intent"), params.get("expand", []))

    def _confirm_intent(self, params, identifier):
        intent = self._find(identifier, "payment_intent", "intent")
        if intent["status"] != "requires_confirmation":
            raise Refused(400, code="payment_intent_unexpected_state")
        method = self.objects[intent["payment_method"]]
        if method["customer"] != intent["customer"]:
            raise Refused(400, param="payment_method")
        error = self.cards.get(method["id"])
        if error is None:
            self._succeed(intent)
            return self._shown(intent)
        error = self._fail(intent, error)
        raise Refused(402, "card_error", keep=True,
                      **{**error, "payment_intent": self._shown(intent)})

    def _cancel_intent(self, params, identifier):
        intent = self._find(identifier, "payment_intent", "intent")
        if intent["status"] in ("succeeded", "canceled", "processing"):
            raise Refused(400, code="payment_intent_unexpected_state")
        intent.update(status="canceled", canceled_at=self.now())
        self._event("payment_intent.canceled", intent)
        return self._shown(intent)

    def _detach(self, method):
        method["customer"] = None
        self._event("payment_method.detached", method)

    def _get_method(self, params, identifier):
        return self._shown(self._find(identifier, "payment_method"))

    def _detach_method(self, params, identifier):
        method = self._find(identifier, "payment_method")
        if method["customer"] is None:
            raise Refused(400)
        self._detach(method)
        return self._shown(method)

    def _create_refund(self, params):
        intent = self._find(params.get("payment_intent"), "payment_intent", "payment_intent")
        amount = integer(params, "amount", 1) if "amount" in params else None
        return self._shown(self._refund(intent, amount, "succeeded", params.get("metadata", {})))

    def _list_refunds(self, params):
        about = {name: params[name] for name in ("payment_intent",) if name in params}
        return self._list("/v1/refunds", self._newest_of("refund", **about), params)

    def _list_disputes(self, params):
        about = {name: params[name] for name in ("payment_intent",) if name in params}
        return self._list("/v1/disputes", self._newest_of("dispute", **about), params)

    def _list_events(self, params):
        if len(params.get("types", [])) > 20:
            raise Refused(400, param="types")
        since = int(params.get("created", {}).get("gte", 0))
        found = [one for one in reversed(self.events)
                 if one["type"] in params.get("types", [one["type"]]) and one["created"] >= since]
        return self._list("/v1/events", found, params)

    def _list_endpoints(self, params):
        return self._list("/v1/webhook_endpoints", self._newest_of("webhook_endpoint"), params)

    # ---- pages for people

    def page(self, path):
        """(status, body) of the page that a browser gets."""
        kind, _, rest = path.lstrip("/").partition("/")
        with self.lock:
            if kind in ("invoices", "receipts"):
                return 200, fake_checkout.page(path, f"<h1>{html.escape(kind[:-1])}</h1><p>Paid.")
            session = self.objects.get(rest)
            if kind != "pay" or session is None or session["object"] != "checkout.session":
                return 404, fake_checkout.page("Nothing", "<p>There is nothing here.")
            self._expire_if_due(session)
            if session["status"] != "open":
                return 200, fake_checkout.page("Over", "<p>This page is no longer open.")
            return 200, fake_checkout.checkout(session, session.get("_title", ""),
                                               self._problem_of(session))

    def _problem_of(self, session):
        """Why the page of an open session did not accept the last card."""
        intent = self.objects.get(session["payment_intent"] or session["setup_intent"], {})
        error = intent.get("last_payment_error") or intent.get("last_setup_error") or {}
        return error.get("decline_code") or error.get("code")

    def press(self, path, form):
        """Handles a button of a session's page. Returns where the browser goes."""
        session_id = path.rpartition("/")[2]
        with self.lock:
            session = self._open(session_id)
            button = form.get("do")
            if button == "cancel":
                return session["cancel_url"] or path  # the session stays open
            number = fake_checkout.DECLINED if button == "decline" else (
                fake_checkout.number_of(form.get("number", "")))
            if number is None:
                self.decline(session_id, "incorrect_number")
                return path
            card = fake_checkout.CARDS[number]
            if card.now:
                self.decline(session_id, **card.now)
                return path
            method_id = self.pay(session_id, number[-4:], brand=card.brand)
            if card.later:
                self.decline_card(method_id, **card.later)
            return session["success_url"]

    def _make_server(self):
        fake = self

        class Answers(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with fake.lock:
                    fake.connections.add(self.connection)

            def finish(self):
                with fake.lock:
                    fake.connections.discard(self.connection)
                super().finish()

            def do_GET(self):
                if self.path.startswith("/v1/"):
                    self.answer_call(b"")
                else:
                    self.send(*fake.page(self.path), {"Content-Type": "text/html; charset=utf-8"})

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                if self.path.startswith("/v1/"):
                    self.answer_call(body)
                    return
                try:
                    goes_to = fake.press(self.path, dict(urllib.parse.parse_qsl(body.decode())))
                    self.send(303, "", {"Location": goes_to})
                except (KeyError, Refused):
                    self.send(*fake.page(self.path), {"Content-Type": "text/html; charset=utf-8"})

            def answer_call(self, body):
                answer = fake.answer(self.command, self.path, self.headers, body)
                if answer is None:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, headers, reply = answer
                self.send(status, json.dumps(reply), {"Content-Type": "application/json",
                                                      **headers})

            def date_time_string(self, timestamp=None):
                return email.utils.formatdate(fake.now(), usegmt=True)

            def send(self, status, text, headers):
                body = text.encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = False  # server_close() waits for its threads
            request_queue_size = 128

            def handle_error(self, *_):
                """Ignored: connections break at any time."""

        return Server(("127.0.0.1", 0), Answers)
