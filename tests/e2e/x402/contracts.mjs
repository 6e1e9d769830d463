// Compiles the contracts of the test chain from contracts/*.sol: {Name: {abi, bytecode}}. The
// token's name is part of what it signs, so it is set to the name on the chain. The result is kept
// beside the compiler, because to load and run that takes most of a chain's start.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const folder = new URL("./contracts/", import.meta.url);
const { version } = createRequire(import.meta.url)("solc/package.json");

export async function compileContracts(tokenName) {
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
  const asked = JSON.stringify(input);
  const digest = createHash("sha256").update(version + asked).digest("hex");
  const kept = new URL(`./node_modules/.contracts-${digest}.json`, import.meta.url);
  if (!existsSync(kept)) {
    const part = new URL(`./node_modules/.contracts-${process.pid}.part`, import.meta.url);
    writeFileSync(part, JSON.stringify(await compile(asked)));
    renameSync(part, kept);
  }
  return JSON.parse(readFileSync(kept, "utf8"));
}

async function compile(asked) {
  const { default: solc } = await import("solc");
  const output = JSON.parse(solc.compile(asked));
  const errors = output.errors ?? [];
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join("\n"));
  return Object.fromEntries(
    Object.values(output.contracts)
      .flatMap((file) => Object.entries(file))
      .map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]),
  );
}
