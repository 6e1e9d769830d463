// Lets another relying party check the ceremonies in a file, and compares its verdicts with ours.
// usage: compare.mjs FILE
import { readFileSync } from "node:fs";
import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server";

const bytes = (text) => new Uint8Array(Buffer.from(text, "base64url"));
const text = (array) => Buffer.from(array).toString("base64url");

const asked = ({ challenge, origin, partyId, credential }) => ({
  response: credential,
  expectedChallenge: challenge,
  expectedOrigin: origin,
  expectedRPID: partyId,
  requireUserVerification: true,
});

async function registration(ceremony) {
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    ...asked(ceremony),
    supportedAlgorithmIDs: [-8, -7, -257],
  });
  if (!verified) return null;
  const { credential, credentialDeviceType, credentialBackedUp, aaguid } = registrationInfo;
  return {
    publicKey: text(credential.publicKey),
    facts: {
      id: credential.id,
      counter: credential.counter,
      isBackupEligible: credentialDeviceType === "multiDevice",
      isBackedUp: credentialBackedUp,
      aaguid: aaguid.replaceAll("-", ""),
    },
  };
}

async function assertion(ceremony) {
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    ...asked(ceremony),
    credential: {
      id: ceremony.credential.id,
      publicKey: bytes(ceremony.publicKey),
      counter: ceremony.storedCounter,
    },
  });
  if (!verified) return null;
  const { newCounter, credentialBackedUp } = authenticationInfo;
  return { facts: { counter: newCounter, isBackedUp: credentialBackedUp } };
}

let failures = 0;
const counts = { taken: 0, refused: 0 };
const sorted = (facts) => JSON.stringify(Object.entries(facts).sort());
for (const ceremony of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  let theirs = null;
  let reason = "it did not verify";
  try {
    theirs = await (ceremony.kind === "registration" ? registration : assertion)(ceremony);
  } catch (error) {
    reason = error.message;
  }
  let fault = "";
  if (ceremony.taken && theirs === null) {
    fault = `we take it, they do not: ${reason}`;
  } else if (!ceremony.taken && theirs !== null) {
    fault = `they take it, we do not: ${ceremony.why}`;
  } else if (theirs !== null && sorted(theirs.facts) !== sorted(ceremony.facts)) {
    fault = `${sorted(ceremony.facts)} here, ${sorted(theirs.facts)} there`;
  } else if (theirs?.publicKey !== undefined && theirs.publicKey !== ceremony.publicKey) {
    fault = "the keys differ";
  }
  if (fault !== "") console.error(`${ceremony.what}: ${fault}`);
  failures += fault === "" ? 0 : 1;
  counts[ceremony.taken ? "taken" : "refused"] += 1;
}
console.log(`${counts.taken} taken, ${counts.refused} refused, ${failures} differences`);
process.exit(failures === 0 && counts.taken > 20 && counts.refused > 60 ? 0 : 1);
