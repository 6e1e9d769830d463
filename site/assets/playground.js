// Runs the call of the playground from this page: the browser asks the API host, with a key that
// stays in the memory of this page.
const form = document.getElementById("call");
const box = document.getElementById("run");
const key = document.getElementById("key");
const result = document.getElementById("result");

const meanings = {
  "x-request-id": "what the call is found by",
  "turnpike-lane": "how it was paid for",
  "turnpike-credits-charged": "Credits that it cost",
  "turnpike-generation": "the registry that it was judged by",
  "turnpike-reply-from": "who wrote the reply",
  "server-timing": "milliseconds in the gateway, and at the provider",
  "ratelimit": "what is left of the free window",
  "ratelimit-policy": "the free windows",
  "retry-after": "seconds to wait",
  "content-type": "what the reply is",
};

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// The call as the fields say, which may have changed since the page was made.
function asked() {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const field of form.querySelectorAll("[data-in]")) {
    if (field.dataset.in === "path") {
      path = path.replace(`{${field.dataset.name}}`, encodeURIComponent(field.value));
    } else if (field.value !== "") query.append(field.dataset.name, field.value);
  }
  if (form.elements.free?.checked) path += ":free";
  const text = query.toString();
  const body = form.elements.body;
  return {
    url: form.dataset.api + path + (text ? "?" + text : ""),
    init: {
      method: form.dataset.method,
      headers: {
        ...(key.value ? {Authorization: `Bearer ${key.value}`} : {}),
        ...(body ? {"Content-Type": form.dataset.contentType} : {}),
      },
      ...(body ? {body: body.value} : {}),
    },
  };
}

function showHeaders(reply) {
  const table = element("table");
  table.append(element("caption", "Header fields of the reply"));
  for (const [name, value] of reply.headers) {
    const row = element("tr");
    row.append(element("th", name), element("td", value), element("td", meanings[name] ?? ""));
    row.firstChild.scope = "row";
    table.append(row);
  }
  const wide = element("div", undefined, "wide");
  wide.tabIndex = 0;
  wide.append(table);
  result.append(wide);
}

function showText(title, text) {
  const listing = element("div", undefined, "listing");
  listing.tabIndex = 0;
  const pre = element("pre");
  pre.append(element("code", text));
  listing.append(pre);
  result.append(element("h3", title), listing);
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

async function run() {
  const button = box.querySelector("button");
  button.disabled = true;
  result.replaceChildren(element("p", "The call runs."));
  try {
    const {url, init} = asked();
    const reply = await fetch(url, init);
    const text = await reply.text();
    const charged = reply.headers.get("turnpike-credits-charged") ?? "0";
    const state = element("p", undefined);
    state.append(element("span", `${reply.status} ${reply.statusText}`,
      `state ${reply.ok ? "ok" : "bad"}`));
    state.append(`. It cost ${charged} ${charged === "1" ? "Credit" : "Credits"}. `);
    const id = reply.headers.get("x-request-id");
    if (id) {
      const link = element("a", "Read it in the inspector");
      link.href = `${form.dataset.calls}/${encodeURIComponent(id)}`;
      state.append(link, ".");
    }
    result.replaceChildren(state);
    showText("The reply", pretty(text));
    const challenge = reply.headers.get("payment-required");
    if (challenge) showText("What it asks to be paid", pretty(atob(challenge)));
    showHeaders(reply);
  } catch {
    result.replaceChildren(element("p",
      "The API host could not be asked from this page: it is away, or its setting " +
      "hosts.api.cors_origins leaves this page out. The lines below work from a shell.", "alert"));
  }
  button.disabled = false;
}

if (form && box) {
  box.hidden = false;
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.reportValidity()) run();
  });
}
