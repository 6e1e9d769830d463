// A local EVM chain behind Ethereum's JSON-RPC. Every transaction is mined at once in a block of
// its own, and there are empty blocks, too. Time is real; state is in memory. The genesis state has
// what x402 needs:
//   - the token (contracts/Token.sol) at the address and with the name of the chain's USDC, which
//     the official client knows and pays without being told;
//   - Multicall3's tryAggregate at its usual address.
// usage: chain.mjs [--chain-id=84532|8453]
// Methods besides Ethereum's:
//   test_fund [address, amount]   sends tokens from the treasury
//   test_wallet [owner]           makes a contract wallet (contracts/Wallet.sol); its address
//   test_send [{to, data}]        sends a transaction that needs no signature; its hash
//   test_hold [on]                keeps transactions pending while on; off mines them
//   test_drop []                  discards pending transactions
//   test_fault [kind]             Ethereum's methods: "close", "error", "hang", "html"; null: none
//   test_calls []                 how often each of Ethereum's methods was called
import { createBlock } from "@ethereumjs/block";
import { createCustomCommon, Hardfork, Mainnet } from "@ethereumjs/common";
import { createTxFromRLP } from "@ethereumjs/tx";
import {
  bytesToHex, createAccount, createAddressFromString, hexToBytes, bigIntToHex,
} from "@ethereumjs/util";
import { createVM, runTx } from "@ethereumjs/vm";
import { decodeErrorResult, encodeDeployData, encodeFunctionData } from "viem";
import { compileContracts } from "./contracts.mjs";
import {
  answer, argumentsOf, bodyOf, Counters, endWithStarter, listen, ready,
} from "./loopback.mjs";

const TOKENS = {
  84532: { address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", name: "USDC" },
  8453: { address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", name: "USD Coin" },
};
const MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11";
const TREASURY = "0x00000000000000000000000000000000000000a1";
// The gas account of the facilitator. Its key is worth nothing anywhere else.
const FACILITATOR = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const SUPPLY = 10n ** 18n;
const GAS_LIMIT = 30_000_000n;
const BASE_FEE = 1_000_000_000n;
const IDLE_SECONDS = 10;

class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

class Chain {
  blocks = [];
  transactions = new Map(); // hash -> {tx, block, index, receipt}
  pending = [];
  holding = false;

  static async make(chainId) {
    const chain = new Chain();
    chain.chainId = chainId;
    chain.contracts = await compileContracts(TOKENS[chainId].name);
    chain.common = createCustomCommon({ chainId, name: "local" }, Mainnet, {
      hardfork: Hardfork.Shanghai,
    });
    chain.vm = await createVM({ common: chain.common });
    chain.addBlock([], 0n);
    chain.token = TOKENS[chainId].address;
    await chain.construct(chain.token, "Token", [TREASURY, SUPPLY]);
    await chain.construct(MULTICALL, "Multicall", []);
    await chain.vm.stateManager.putAccount(
      createAddressFromString(FACILITATOR), createAccount({ balance: 10n ** 24n }));
    return chain;
  }

  head() {
    return this.blocks.at(-1);
  }

  /** The block in which a transaction would run now. */
  nextBlock() {
    const parent = this.blocks.at(-1);
    const now = BigInt(Math.floor(Date.now() / 1000));
    return {
      number: BigInt(this.blocks.length),
      timestamp: parent && parent.header.timestamp > now ? parent.header.timestamp : now,
      parentHash: parent?.hash(),
      gasLimit: GAS_LIMIT,
      baseFeePerGas: BASE_FEE,
    };
  }

  addBlock(transactions, gasUsed) {
    const block = createBlock(
      { header: { ...this.nextBlock(), gasUsed }, transactions },
      { common: this.common, skipConsensusFormatValidation: true });
    this.blocks.push(block);
    return block;
  }

  /** Adds an empty block if the newest one is old, as real chains do. */
  newest() {
    const age = Date.now() / 1000 - Number(this.head().header.timestamp);
    if (age > IDLE_SECONDS) this.addBlock([], 0n);
    return this.head();
  }

  /** Runs a constructor in place, so that a contract has the address it is known by. */
  async construct(address, name, args) {
    const { abi, bytecode } = this.contracts[name];
    const to = createAddressFromString(address);
    await this.vm.stateManager.putAccount(to, createAccount({ nonce: 1n }));
    const result = await this.vm.evm.runCode({
      code: hexToBytes(encodeDeployData({ abi, bytecode, args })),
      to, gasLimit: GAS_LIMIT, block: this.head(),
    });
    if (result.exceptionError) throw new Error(`${name}: ${result.exceptionError.error}`);
    await this.vm.stateManager.putCode(to, result.returnValue);
  }

  /** The result of a call on the current state, which changes only if `keep`. */
  async call({ from, to, data, input, value, gas }, keep = false) {
    const journal = this.vm.evm.journal;
    await journal.checkpoint();
    const block = createBlock({ header: this.nextBlock() },
      { common: this.common, skipConsensusFormatValidation: true });
    const { execResult, createdAddress } = await this.vm.evm.runCall({
      block,
      caller: createAddressFromString(from ?? TREASURY),
      to: to && createAddressFromString(to),
      data: hexToBytes(data ?? input ?? "0x"),
      value: BigInt(value ?? 0),
      gasLimit: BigInt(gas ?? GAS_LIMIT),
      skipBalance: true,
    });
    await (keep && !execResult.exceptionError ? journal.commit() : journal.revert());
    await journal.cleanup();
    if (execResult.exceptionError) {
      const data = bytesToHex(execResult.returnValue);
      throw new RpcError(3, `execution reverted${reasonOf(data)}`, data);
    }
    return { execResult, createdAddress };
  }

  async accept(raw) {
    const tx = createTxFromRLP(hexToBytes(raw), { common: this.common });
    const hash = bytesToHex(tx.hash());
    if (this.transactions.has(hash)) throw new RpcError(-32000, "already known");
    const sender = tx.getSenderAddress();
    const expected = await this.nonceOf(sender, "pending");
    if (tx.nonce !== expected) {
      throw new RpcError(-32000, tx.nonce < expected ? "nonce too low" : "nonce too high");
    }
    this.transactions.set(hash, { tx });
    this.pending.push(tx);
    if (!this.holding) await this.mine();
    return hash;
  }

  async mine() {
    for (const tx of this.pending.splice(0)) {
      const header = createBlock({ header: this.nextBlock() },
        { common: this.common, skipConsensusFormatValidation: true });
      const result = await runTx(this.vm, { tx, block: header, skipHardForkValidation: true });
      this.record(bytesToHex(tx.hash()), tx, tx.getSenderAddress().toString(), tx.to?.toString(),
        this.addBlock([tx], result.totalGasSpent), result.receipt.status,
        result.receipt.logs, result.totalGasSpent);
    }
  }

  record(hash, tx, from, to, block, status, logs, gasUsed) {
    const place = {
      blockHash: bytesToHex(block.hash()),
      blockNumber: bigIntToHex(block.header.number),
      transactionHash: hash,
      transactionIndex: "0x0",
    };
    const receipt = {
      ...place, from, to: to ?? null, type: "0x2", contractAddress: null,
      status: status ? "0x1" : "0x0",
      gasUsed: bigIntToHex(gasUsed), cumulativeGasUsed: bigIntToHex(gasUsed),
      effectiveGasPrice: bigIntToHex(BASE_FEE), logsBloom: `0x${"00".repeat(256)}`,
      logs: logs.map(([address, topics, data], index) => ({
        ...place, address: bytesToHex(address), topics: topics.map((topic) => bytesToHex(topic)),
        data: bytesToHex(data), logIndex: bigIntToHex(BigInt(index)), removed: false,
      })),
    };
    this.transactions.set(hash, { tx, receipt });
    return hash;
  }

  /** Records a call by the treasury as a transaction in a block of its own. */
  async send({ to, data }) {
    const { execResult } = await this.call({ to, data }, true);
    const block = this.addBlock([], execResult.executionGasUsed);
    return this.record(bytesToHex(block.hash()), undefined, TREASURY, to, block, 1,
      execResult.logs ?? [], execResult.executionGasUsed);
  }

  async nonceOf(address, tag) {
    const account = await this.vm.stateManager.getAccount(address);
    const waiting = tag === "pending"
      ? this.pending.filter((tx) => tx.getSenderAddress().equals(address)).length : 0;
    return (account?.nonce ?? 0n) + BigInt(waiting);
  }

  blockAt(tag) {
    if (/^0x/.test(tag)) return this.blocks[Number(tag)];
    return tag === "earliest" ? this.blocks[0] : this.head();
  }

  logs({ address, topics = [], fromBlock = "latest", toBlock = "latest", blockHash }) {
    const within = (log) => blockHash ? log.blockHash === blockHash
      : BigInt(log.blockNumber) >= this.blockAt(fromBlock).header.number &&
        BigInt(log.blockNumber) <= (this.blockAt(toBlock) ?? this.head()).header.number;
    const has = (wanted, value) => wanted == null ||
      [wanted].flat().some((each) => each.toLowerCase() === value?.toLowerCase());
    return [...this.transactions.values()]
      .flatMap(({ receipt }) => receipt?.logs ?? [])
      .filter((log) => within(log) && has(address, log.address) &&
        topics.every((topic, index) => has(topic, log.topics[index])));
  }
}

function reasonOf(data) {
  try {
    return `: ${decodeErrorResult({ data, abi: [] }).args[0]}`;
  } catch {
    return "";
  }
}

function shownBlock(block) {
  return block ? {
    number: bigIntToHex(block.header.number),
    hash: bytesToHex(block.hash()),
    parentHash: bytesToHex(block.header.parentHash),
    timestamp: bigIntToHex(block.header.timestamp),
    baseFeePerGas: bigIntToHex(BASE_FEE),
    gasLimit: bigIntToHex(GAS_LIMIT),
    gasUsed: bigIntToHex(block.header.gasUsed),
    transactions: block.transactions.map((tx) => bytesToHex(tx.hash())),
  } : null;
}

function shownTransaction(hash, { tx, receipt }) {
  return {
    hash, type: "0x2", from: receipt?.from ?? tx.getSenderAddress().toString(),
    to: receipt?.to ?? tx.to?.toString() ?? null,
    nonce: bigIntToHex(tx?.nonce ?? 0n), input: tx ? bytesToHex(tx.data) : "0x", value: "0x0",
    gas: bigIntToHex(tx?.gasLimit ?? GAS_LIMIT), blockHash: receipt?.blockHash ?? null,
    blockNumber: receipt?.blockNumber ?? null, transactionIndex: receipt ? "0x0" : null,
  };
}

const ethereum = {
  eth_chainId: (chain) => bigIntToHex(BigInt(chain.chainId)),
  net_version: (chain) => String(chain.chainId),
  eth_blockNumber: (chain) => bigIntToHex(chain.head().header.number),
  eth_gasPrice: () => bigIntToHex(2n * BASE_FEE),
  eth_maxPriorityFeePerGas: () => "0x1",
  eth_getBlockByNumber: (chain, tag) =>
    shownBlock(tag === "latest" ? chain.newest() : chain.blockAt(tag)),
  eth_getCode: async (chain, address) =>
    bytesToHex(await chain.vm.stateManager.getCode(createAddressFromString(address))),
  eth_getBalance: async (chain, address) => bigIntToHex(
    (await chain.vm.stateManager.getAccount(createAddressFromString(address)))?.balance ?? 0n),
  eth_getTransactionCount: async (chain, address, tag) =>
    bigIntToHex(await chain.nonceOf(createAddressFromString(address), tag)),
  eth_call: async (chain, call) =>
    bytesToHex((await chain.call(call)).execResult.returnValue),
  // Generous, because the cost of a transfer is not tested.
  eth_estimateGas: async (chain, call) =>
    bigIntToHex(100_000n + 2n * (await chain.call(call)).execResult.executionGasUsed),
  eth_sendRawTransaction: (chain, raw) => chain.accept(raw),
  eth_getTransactionReceipt: (chain, hash) => chain.transactions.get(hash)?.receipt ?? null,
  eth_getTransactionByHash: (chain, hash) => {
    const found = chain.transactions.get(hash);
    return found ? shownTransaction(hash, found) : null;
  },
  eth_getLogs: (chain, filter) => chain.logs(filter),
};

const control = {
  test_fund: (chain, to, amount) => chain.send({
    to: chain.token,
    data: encodeFunctionData({
      abi: chain.contracts.Token.abi, functionName: "transfer", args: [to, BigInt(amount)],
    }),
  }),
  test_wallet: async (chain, owner) => {
    const { abi, bytecode } = chain.contracts.Wallet;
    const data = encodeDeployData({ abi, bytecode, args: [owner] });
    return (await chain.call({ data }, true)).createdAddress.toString();
  },
  test_send: (chain, call) => chain.send(call),
  test_hold: async (chain, on) => {
    chain.holding = on;
    if (!on) await chain.mine();
    return null;
  },
  test_drop: (chain) => {
    for (const tx of chain.pending.splice(0)) chain.transactions.delete(bytesToHex(tx.hash()));
    return null;
  },
  test_calls: () => calls.counts,
};

const given = argumentsOf({ "chain-id": "84532" });
const chain = await Chain.make(Number(given["chain-id"]));
const calls = new Counters();
let fault = null;
let turn = Promise.resolve(); // one request at a time, because the state has one journal

async function run({ id, method, params = [] }) {
  try {
    if (method === "test_fault") {
      fault = params[0];
      return { jsonrpc: "2.0", id, result: null };
    }
    const known = ethereum[method] ?? control[method];
    if (!known) throw new RpcError(-32601, `the method ${method} does not exist`);
    if (method in ethereum) calls.add(method);
    turn = turn.catch(() => {}).then(() => known(chain, ...params));
    return { jsonrpc: "2.0", id, result: await turn };
  } catch (error) {
    const { code = -32603, message, data } = error;
    return { jsonrpc: "2.0", id, error: { code, message, ...(data && { data }) } };
  }
}

endWithStarter();
const url = await listen(async (request, response) => {
  const asked = JSON.parse(await bodyOf(request));
  const first = Array.isArray(asked) ? asked[0] : asked;
  if (fault && first.method in ethereum) {
    if (fault === "close") request.socket.destroy();
    if (fault === "error") answer(response, 500, "out of order", "text/plain");
    if (fault === "html") answer(response, 200, "<p>busy</p>", "text/html");
    return; // "hang": no answer
  }
  answer(response, 200,
    Array.isArray(asked) ? await Promise.all(asked.map(run)) : await run(asked));
});
ready({ url, network: `eip155:${chain.chainId}`, token: chain.token });
