// ScriptedChain: a node of an invented chain for tests without sockets. Each block has a header
// with a valid hash, and a state. A test adds the lies that the node tells. One Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <turnpike/helpers/test_host.h>

#include "plugins/substrate/vectors.h"
#include "substrate/chain/facts.h"
#include "substrate/chain/keys.h"
#include "substrate/codec/digest.h"
#include "substrate/codec/scale.h"
#include "substrate/verify/json.h"

namespace turnpike::substrate {

class ScriptedChain {
 public:
  struct Block {
    Header header;
    Bytes code;
    std::map<std::string, Bytes> storage = {};
    Hash hash{};
  };

  // Starts with a genesis block that has the first runtime.
  ScriptedChain() { add(vectors::s1()); }

  // Appends a block; `replaces`: its header says that it replaced the code.
  Block& add(const Bytes& code, bool replaces = false) {
    Block block;
    if (!blocks.empty()) block.header.parent = blocks.back().hash;
    block.header.number = static_cast<std::uint32_t>(blocks.size());
    block.header.state_root = blake2_256(code);
    block.header.logs = {vectors::of("0642414245")};
    if (replaces) block.header.logs.push_back({0x08});
    block.code = code;
    block.hash = hash_of_header(block.header);
    blocks.push_back(std::move(block));
    finalized = blocks.size() - 1;
    return blocks.back();
  }
  void authorize(std::string_view code_hash, bool check) {
    Bytes value = vectors::of(code_hash);
    value.push_back(check ? 1 : 0);
    blocks.back().storage[std::string(keys::authorized_upgrade)] = value;
  }

  // Answers one request. `meddle` may change a result, or throw a message to answer with an error.
  Done answer(const HttpRequest& request, HttpSink& sink) {
    ++requests;
    const Json asked = Json::parse(request.body);
    OrderedJson reply = {{"jsonrpc", "2.0"}, {"id", asked["id"]}};
    try {
      Json result = result_of(asked["method"], asked["params"]);
      if (meddle) meddle(asked["method"], asked["params"], result);
      reply["result"] = result;
    } catch (const std::runtime_error& error) {
      reply["error"] = {{"code", -32000}, {"message", error.what()}};
    }
    const std::string text = reply.dump();
    if (sink.head(200, {}, text.size())) sink.body(text);
    return Unit{};
  }

  std::vector<Block> blocks;
  std::size_t finalized = 0;
  int requests = 0;
  std::function<void(const std::string&, const Json&, Json&)> meddle;

 private:
  static Json header_json(const Header& header) {
    char number[16];
    std::snprintf(number, sizeof(number), "0x%x", header.number);
    Json logs = Json::array();
    for (const Bytes& log : header.logs) logs.push_back(hex_of(log));
    return {{"parentHash", hex_of(header.parent)},
            {"number", number},
            {"stateRoot", hex_of(header.state_root)},
            {"extrinsicsRoot", hex_of(header.extrinsics_root)},
            {"digest", {{"logs", logs}}}};
  }
  const Block& block_of(const Json& hash) const {
    for (const Block& block : blocks) {
      if (hex_of(block.hash) == hash) return block;
    }
    throw std::runtime_error("Client error: UnknownBlock: header not found");
  }
  Json result_of(const std::string& method, const Json& params) const {
    if (method == "chain_getBlockHash") {
      const std::size_t number =
          params.empty() ? blocks.size() - 1 : params[0].get<std::size_t>();
      return number < blocks.size() ? Json(hex_of(blocks[number].hash)) : Json();
    }
    if (method == "chain_getFinalizedHead") return hex_of(blocks[finalized].hash);
    if (method == "chain_getHeader") return header_json(block_of(params[0]).header);
    if (method == "state_getRuntimeVersion") return version_json(block_of(params[0]).code);
    const Block& block = block_of(params[1]);
    const bool is_code = params[0] == keys::code;
    const auto found = block.storage.find(params[0]);
    if (!is_code && found == block.storage.end()) return nullptr;
    const Bytes& value = is_code ? block.code : found->second;
    return method == "state_getStorageHash" ? hex_of(blake2_256(value)) : hex_of(value);
  }
  static Json version_json(const Bytes& code) {
    const RuntimeVersion version = examine_code(code).version.value();
    return {{"specName", version.spec_name},
            {"implName", version.impl_name},
            {"authoringVersion", version.authoring_version},
            {"specVersion", version.spec_version},
            {"implVersion", version.impl_version},
            {"apis", Json::array()},
            {"transactionVersion", *version.transaction_version},
            {"stateVersion", *version.state_version}};
  }
};

}  // namespace turnpike::substrate
