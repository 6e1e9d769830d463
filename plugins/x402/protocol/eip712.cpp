#include "x402/protocol/eip712.h"

#include <algorithm>

#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

// keccak256(abi.encode(words...)): every item is one word, so the encoding is their concatenation.
template <class... Words>
Word hash_words(const Words&... words) {
  return keccak256({bytes_of(words)...});
}

Word typed_data_digest(const Word& domain_separator, const Word& struct_hash) {
  return keccak256({"\x19\x01", bytes_of(domain_separator), bytes_of(struct_hash)});
}

bool has_same_domain(const PaymentRequirements& left, const PaymentRequirements& right) noexcept {
  return left.network == right.network && left.asset == right.asset &&
         left.extra.name == right.extra.name && left.extra.version == right.extra.version &&
         left.extra.asset_transfer_method == right.extra.asset_transfer_method;
}

std::optional<Word> compute(const PaymentRequirements& requirements) {
  const auto chain_id = evm_chain_id(requirements.network);
  if (!chain_id) return std::nullopt;
  if (requirements.extra.asset_transfer_method == "permit2") {
    return permit2_domain_separator(*chain_id);
  }
  Address token;
  if (!hex_decode_exactly(requirements.asset, token)) return std::nullopt;
  return token_domain_separator({requirements.extra.name, requirements.extra.version}, *chain_id,
                                token);
}

}  // namespace

Word token_domain_separator(const TokenDomain& domain, std::uint64_t chain_id,
                            const Address& token) {
  static const Word type_hash = keccak256(
      "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
  return hash_words(type_hash, keccak256(domain.name), keccak256(domain.version), word_of(chain_id),
                    word_of(token));
}

// Permit2's domain has no version, as the contract was deployed.
Word permit2_domain_separator(std::uint64_t chain_id) {
  static const Word type_hash =
      keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
  return hash_words(type_hash, keccak256("Permit2"), word_of(chain_id), word_of(permit2_contract));
}

Word digest_of(const Eip3009Payment& payment, const Word& domain_separator) {
  static const Word type_hash = keccak256(
      "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,"
      "uint256 validBefore,bytes32 nonce)");
  return typed_data_digest(
      domain_separator,
      hash_words(type_hash, word_of(payment.from), word_of(payment.to), payment.value,
                 payment.valid_after, payment.valid_before, payment.nonce));
}

// `from` is not signed: Permit2 takes it from the call and compares it with the signer.
Word digest_of(const Permit2Payment& payment, const Word& domain_separator) {
  static const Word permission_type = keccak256("TokenPermissions(address token,uint256 amount)");
  static const Word witness_type = keccak256("Witness(address to,uint256 validAfter)");
  static const Word type_hash = keccak256(
      "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,"
      "uint256 deadline,Witness witness)TokenPermissions(address token,uint256 amount)"
      "Witness(address to,uint256 validAfter)");
  const Word permitted = hash_words(permission_type, word_of(payment.token), payment.amount);
  const Word witness = hash_words(witness_type, word_of(payment.to), payment.valid_after);
  return typed_data_digest(domain_separator,
                           hash_words(type_hash, permitted, word_of(payment.spender), payment.nonce,
                                      payment.deadline, witness));
}

DomainSeparators::DomainSeparators(std::span<const PaymentRequirements> offered) {
  for (const PaymentRequirements& requirements : offered) {
    const bool is_kept = std::any_of(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return has_same_domain(kept.requirements, requirements);
    });
    const auto separator = is_kept ? std::nullopt : compute(requirements);
    if (separator) kept_.push_back({requirements, *separator});
  }
}

std::optional<Word> DomainSeparators::of(const PaymentRequirements& requirements) const {
  for (const Kept& kept : kept_) {
    if (has_same_domain(kept.requirements, requirements)) return kept.separator;
  }
  return compute(requirements);
}

}  // namespace turnpike::x402
