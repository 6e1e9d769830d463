#include "substrate/tool.h"

#include "substrate/verify/report.h"

namespace turnpike::substrate {
namespace {

constexpr std::string_view description =
    "Checks a runtime upgrade of a Substrate chain: whether a wasm blob has the code hash that a "
    "release page shows, whether the call of a referendum authorises exactly that code, whether a "
    "chain runs or will run it, and in which block it changed. Give `expected` (hashes and "
    "versions), `code` (the blob), `proposal` (the call or its preimage hash), and `chain` (a key "
    "of this server's table) for what is to be looked at on a chain; blob and authorization work "
    "without one. The verdict is one of verified, pending, content_equal, inconclusive, rejected "
    "and mismatch; each check says what it found. The code is never executed.";

constexpr std::string_view input_schema = R"json({
"type":"object","additionalProperties":false,"properties":{
"mode":{"type":"string","enum":["auto","blob","authorization","live","transition"],"default":"auto","description":"auto: transition with from, authorization with proposal, live with chain and neither code nor proposal, else blob."},
"chain":{"type":"string","minLength":1,"maxLength":64,"description":"Key of a chain of this server. Required for live and transition."},
"at":{"type":"object","additionalProperties":false,"description":"The block; the finalized head unless it is stated.","properties":{
"block_hash":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$"},
"block_number":{"type":"integer","minimum":0,"maximum":4294967295},
"tag":{"type":"string","enum":["finalized","best"]}}},
"from":{"type":"object","additionalProperties":false,"description":"For transition: the block that is compared with; the parent of at when it is empty.","properties":{
"block_hash":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$"},
"block_number":{"type":"integer","minimum":0,"maximum":4294967295},
"tag":{"type":"string","enum":["finalized","best"]}}},
"expected":{"type":"object","additionalProperties":false,"properties":{
"spec_name":{"type":"string","minLength":1,"maxLength":256},
"spec_version":{"type":"integer","minimum":0,"maximum":4294967295},
"transaction_version":{"type":"integer","minimum":0,"maximum":4294967295},
"state_version":{"type":"integer","minimum":0,"maximum":4294967295},
"impl_version":{"type":"integer","minimum":0,"maximum":4294967295},
"code_hash":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$","description":"BLAKE2-256 of the blob as it is, compressed or not."},
"uncompressed_code_hash":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$"},
"sha256":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$"},
"call_hash":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$"},
"set_code_hash":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$","description":"Hash of the call set_code with the blob."},
"authorized_hash":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$","description":"The code hash that the chain has authorised."},
"check_version":{"type":"boolean"}}},
"code":{"type":"object","additionalProperties":false,"description":"The blob, at most 16 MiB: one of both.","properties":{
"base64":{"type":"string"},"hex":{"type":"string"}}},
"proposal":{"type":"object","additionalProperties":false,"properties":{
"call":{"type":"string","description":"The bytes of the call in hex."},
"preimage_hash":{"type":"string","pattern":"^(0[xX])?[0-9a-fA-F]{64}$"},
"preimage_len":{"type":"integer","minimum":0,"maximum":4294967295},
"kind":{"type":"string","enum":["auto","set_code","set_code_without_checks","authorize_upgrade","authorize_upgrade_without_checks","apply_authorized_upgrade","parachain_authorize_upgrade"],"default":"auto"}}},
"system_pallet_index":{"type":"integer","minimum":0,"maximum":255},
"min_assurance":{"type":"integer","minimum":0,"maximum":5,"description":"0 declared, 1 a node's version, 2 a node's storage hash, 3 bytes hashed here, 5 several endpoints agree. Default 2 for live and transition, else 0."}
}})json";

// Nothing is required at its root: clients hold refusals of a call against it, too.
constexpr std::string_view output_schema = R"json({
"type":"object","properties":{
"schema_version":{"type":"string","const":"service.substrate.runtime_upgrade.verify.v1"},
"verdict":{"type":"string","enum":["mismatch","rejected","pending","content_equal","inconclusive","verified"]},
"summary":{"type":"string"},
"mode":{"type":"string","enum":["blob","authorization","live","transition"]},
"chain":{"type":["object","null"],"required":["key","genesis_hash"],"properties":{"key":{"type":"string"},"genesis_hash":{"type":"string"},"name":{"type":"string"}}},
"assurance":{"type":"object","required":["level","name","finalized"],"properties":{"level":{"type":"integer","minimum":0,"maximum":5},"name":{"type":"string"},"finalized":{"type":["boolean","null"]}}},
"generated_at":{"type":"string"},
"at":{"type":["object","null"],"properties":{"block_number":{"type":"integer"},"block_hash":{"type":"string"},"state_root":{"type":"string"}}},
"from":{"type":["object","null"],"properties":{"block_number":{"type":"integer"},"block_hash":{"type":"string"},"state_root":{"type":"string"}}},
"applied_at":{"type":"integer"},
"runtime":{"type":["object","null"],"required":["spec_name","impl_name","authoring_version","spec_version","impl_version","source"],"properties":{"spec_name":{"type":"string"},"impl_name":{"type":"string"},"authoring_version":{"type":"integer"},"spec_version":{"type":"integer"},"impl_version":{"type":"integer"},"transaction_version":{"type":"integer"},"state_version":{"type":"integer"},"source":{"type":"string","enum":["blob","rpc"]}}},
"previous_runtime":{"type":["object","null"],"required":["spec_name","impl_name","authoring_version","spec_version","impl_version","source"],"properties":{"spec_name":{"type":"string"},"impl_name":{"type":"string"},"authoring_version":{"type":"integer"},"spec_version":{"type":"integer"},"impl_version":{"type":"integer"},"transaction_version":{"type":"integer"},"state_version":{"type":"integer"},"source":{"type":"string","enum":["blob","rpc"]}}},
"code":{"type":["object","null"],"required":["code_hash","size","format"],"properties":{"code_hash":{"type":"string"},"size":{"type":"integer"},"format":{"type":"string","enum":["wasm","pvm","unknown"]},"compressed":{"type":"boolean"},"prefix":{"type":"string"},"uncompressed_size":{"type":"integer"},"uncompressed_code_hash":{"type":"string"},"sha256":{"type":"string"},"set_code_call_hash":{"type":"string"},"authorize_upgrade_call_hash":{"type":"string"}}},
"authorization":{"type":["object","null"],"required":["present","source"],"properties":{"present":{"type":"boolean"},"code_hash":{"type":"string"},"check_version":{"type":"boolean"},"source":{"type":"string"}}},
"proposal":{"type":["object","null"],"required":["kind","call_hash","wrapped","matches"],"properties":{"kind":{"type":"string"},"call_hash":{"type":"string"},"call_length":{"type":"integer"},"code_hash":{"type":"string"},"check_version":{"type":"boolean"},"wrapped":{"type":"boolean"},"matches":{"type":"array","items":{"type":"object","required":["pattern","offset"],"properties":{"pattern":{"type":"string"},"offset":{"type":"integer"}}}}}},
"checks":{"type":"array","items":{"type":"object","required":["id","status","severity","source","detail"],"properties":{"id":{"type":"string"},"status":{"type":"string","enum":["pass","fail","warn","unknown","skip"]},"severity":{"type":"string","enum":["critical","important","info"]},"expected":{"type":"string"},"actual":{"type":"string"},"source":{"type":"string"},"detail":{"type":"string"}}}},
"warnings":{"type":"array","items":{"type":"object","required":["code","text"],"properties":{"code":{"type":"string"},"text":{"type":"string"}}}},
"evidence":{"type":"array","items":{"type":"object","required":["method","params_digest","result_digest","endpoint_key","at"],"properties":{"method":{"type":"string"},"params_digest":{"type":"string"},"block_hash":{"type":"string"},"result_digest":{"type":"string"},"endpoint_key":{"type":"string"},"at":{"type":"string"}}}},
"next_steps":{"type":"array","items":{"type":"string"}}
}})json";

std::string text_of_result(std::string_view reply) { return text_of_reply(reply); }

}  // namespace

const OperationTool& verifier_tool() noexcept {
  static constexpr OperationTool tool = {.name = "service.substrate.runtime_upgrade.verify",
                                         .title = "Verify a Substrate runtime upgrade",
                                         .description = description,
                                         .input_schema = input_schema,
                                         .output_schema = output_schema,
                                         .is_read_only = true,
                                         .text_of = &text_of_result};
  return tool;
}

}  // namespace turnpike::substrate
