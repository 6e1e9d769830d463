// A real SMTP server: node server.mjs --tls=starttls|implicit|none [--key=FILE --cert=FILE]
// [--user=NAME --password=TEXT] [--methods=PLAIN,LOGIN] [--port=PORT]. Prints {"port"} when it
// listens. Takes commands as JSON lines. {"do": "mails", "count"} waits for `count` mails and
// answers with all mails since the last such command, parsed, with the envelope. {"do": "refuse",
// "step", "code", "times"} refuses the next `times` mails at the step "sender", "recipient" or
// "message". Ends when standard input ends.
import {readFileSync} from "node:fs";
import {createInterface} from "node:readline";
import {simpleParser} from "mailparser";
import {SMTPServer} from "smtp-server";

const words = Object.fromEntries(process.argv.slice(2).map((word) => {
  const [, name, value] = /^--([a-z]+)=(.*)$/s.exec(word);
  return [name, value];
}));
const mails = [];
const refusal = {step: "", code: 0, times: 0};

let wanted = 0;  // how many mails a command waits for

function answerIfEnough() {
  if (wanted === 0 || mails.length < wanted) return;
  wanted = 0;
  console.log(JSON.stringify({mails: mails.splice(0)}));
}

function verdict(step) {
  if (refusal.step !== step || refusal.times === 0) return null;
  refusal.times -= 1;
  return Object.assign(new Error("refused by the test"), {responseCode: refusal.code});
}

const server = new SMTPServer({
  secure: words.tls === "implicit",
  disabledCommands: words.tls === "none" ? ["STARTTLS"] : [],
  ...(words.key ? {key: readFileSync(words.key), cert: readFileSync(words.cert)} : {}),
  authOptional: words.user === undefined,
  allowInsecureAuth: false,
  authMethods: (words.methods ?? "PLAIN,LOGIN").split(","),
  onAuth(auth, _session, done) {
    const isRight = auth.username === words.user && auth.password === words.password;
    done(isRight ? null : new Error("wrong user or password"), {user: auth.username});
  },
  onMailFrom(_address, _session, done) { done(verdict("sender")); },
  onRcptTo(_address, _session, done) { done(verdict("recipient")); },
  onData(stream, session, done) {
    const chunks = [];
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("end", async () => {
      const refused = verdict("message");
      if (refused) return done(refused);
      const raw = Buffer.concat(chunks);
      const mail = await simpleParser(raw);
      mails.push({
        raw: raw.toString("latin1"),
        subject: mail.subject,
        text: mail.text,
        from: mail.from?.value,
        to: mail.to?.value,
        bcc: mail.bcc?.value ?? null,
        messageId: mail.messageId,
        headers: mail.headerLines.map((line) => line.key),
        envelope: {from: session.envelope.mailFrom.address,
                   to: session.envelope.rcptTo.map((one) => one.address)},
        secure: session.secure,
        user: session.user ?? null,
      });
      done();
      answerIfEnough();
    });
  },
});
server.on("error", () => {});  // clients that disconnect or reject the certificate
server.listen(Number(words.port ?? 0), "127.0.0.1", () => {
  console.log(JSON.stringify({port: server.server.address().port}));
});

createInterface({input: process.stdin}).on("line", (line) => {
  const command = JSON.parse(line);
  if (command.do === "refuse") {
    Object.assign(refusal, command);
    console.log("{}");
  } else if (command.count > 0) {
    wanted = command.count;
    answerIfEnough();
  } else {
    console.log(JSON.stringify({mails: mails.splice(0)}));
  }
}).on("close", () => process.exit(0));
