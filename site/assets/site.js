// What makes pages handier; none needs it. Loaded by every page.

// The colour scheme: the system's, until somebody chooses.
const root = document.documentElement;
const scheme = document.getElementById("scheme");
const dark = matchMedia("(prefers-color-scheme: dark)");
function show(choice) {
  if (choice) root.dataset.scheme = choice; else delete root.dataset.scheme;
  const isDark = choice ? choice === "dark" : dark.matches;
  if (scheme) scheme.textContent = isDark ? "Light" : "Dark";
}
let kept = null;
try { kept = localStorage.getItem("scheme"); } catch { /* storage is off */ }
show(kept);
dark.addEventListener("change", () => show(root.dataset.scheme));
if (scheme) {
  scheme.hidden = false;
  scheme.addEventListener("click", () => {
    const isDark = root.dataset.scheme ? root.dataset.scheme === "dark" : dark.matches;
    const choice = isDark ? "light" : "dark";
    try { localStorage.setItem("scheme", choice); } catch { /* for this page, then */ }
    show(choice);
  });
}

// A button that copies each listing, and each secret.
if (navigator.clipboard) {
  for (const box of document.querySelectorAll(".listing, [data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = (box.querySelector("code") ?? box).innerText.replace(/\n$/, "");
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch { button.textContent = "Not copied"; }
    });
    const frame = document.createElement("div");
    frame.className = "copyable";
    box.replaceWith(frame);
    frame.append(box, button);
  }
}
