// Compiles the contracts of the test chain from contracts/*.sol: {Name: {abi, bytecode}}. The
// token's name is part of what it signs, so it is set to the name on the chain.
import { readFileSync, readdirSync } from "node:fs";
import solc from "solc";

const folder = new URL("./contracts/", import.meta.url);

export function compileContracts(tokenName) {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sol"));
  const input = {
    language: "Solidity",
    sources: Object.fromEntries(
      names.map((name) => [name, {
        content: readFileSync(new URL(name, folder), "utf8")
          .replace('name = "USDC"', `name = "${tokenName}"`),
      }]),
    ),
    settings: {
      evmVersion: "shanghai",
      optimizer: { enabled: true },
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = output.errors ?? [];
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join("\n"));
  return Object.fromEntries(
    Object.values(output.contracts)
      .flatMap((file) => Object.entries(file))
      .map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]),
  );
}
