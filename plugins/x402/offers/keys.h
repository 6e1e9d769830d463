// KeyRing: the keys that sign offers and receipts. They are in a folder of this node (0700), one
// file per key (0600), and never in the database: a person who can change the database must not be
// able to sign in the service's name. One key signs. When it is rotated it is retired: its private
// half is deleted, and its public half stays listed, since receipts are judged as of their
// issuedAt.
//
// A file is `<fragment>.key`. The fragment is that of the key's DID URL, in the form
// offer-<yyyy-mm-dd>-<8 hex>:
//
//   alg: ES256K                    alg: ES256K
//   created: 1795300000000         created: 1795300000000
//   private: <64 hex>              retired: 1795400000000
//                                  public: <64 bytes in hex; EdDSA: 32>
//
// Times are in ms since 1970. A file is written under another name and renamed, so it is whole or
// not there. A lock on the folder lets processes take turns. A crash within a rotation leaves two
// keys that could sign: the newer one does, and the next process that opens the folder retires the
// other.
//
// Safe on any thread; open(), rotate() and refresh() read and write files, the others do not.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "x402/offers/jws.h"

namespace turnpike::x402 {

// What everybody may know about a key.
struct PublishedKey {
  std::string fragment;
  PublicKey key;
  std::int64_t created_ms = 0;
  std::optional<std::int64_t> retired_ms;  // nullopt: it signs

  bool operator==(const PublishedKey&) const = default;
};

// The key that signs.
struct SigningKey {
  std::string fragment;
  std::int64_t created_ms = 0;
  PrivateKey key;
};

class KeyRing {
 public:
  // Makes the folder and, if no key in it can sign, a key of the algorithm `first`. Errors are
  // sentences that name the file and the remedy. `random` and `clock` outlive the ring.
  static Result<std::unique_ptr<KeyRing>, std::string> open(std::string folder, Random& random,
                                                            const Clock& clock,
                                                            Algorithm first = Algorithm::es256k);
  ~KeyRing();

  [[nodiscard]] std::shared_ptr<const SigningKey> active() const;
  // All keys of this folder, newest first.
  [[nodiscard]] std::vector<PublishedKey> published() const;

  // Makes a new key, which signs from now on. Offers and receipts of the old one stay valid.
  Result<Unit, std::string> rotate(Algorithm algorithm);
  // Takes in what another process did to the folder. After an error everything is as it was, unless
  // only the file of an old key could not be written.
  Result<Unit, std::string> refresh();

 private:
  struct Keys;
  enum class When { always, none_can_sign, never };
  KeyRing(std::string folder, Random& random, const Clock& clock);
  // Reads the folder, makes a key if `add` says so, and retires all but the newest.
  Result<Unit, std::string> update(Algorithm algorithm, When add);
  void install(Keys keys);

  const std::string folder_;
  Random& random_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards the two below; held only to copy
  std::shared_ptr<const SigningKey> active_;
  std::vector<PublishedKey> published_;
};

}  // namespace turnpike::x402
