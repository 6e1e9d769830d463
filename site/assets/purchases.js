// What an amount buys, while it is typed. The server says the same when the form asks it, and judges
// what is bought.

const form = document.querySelector("form[data-buy]");
const ask = document.querySelector("form[data-sum]");

// In cents, as the server reads it; null: it is no amount.
function cents(text) {
  const plain = text.replace(/[ ,]/g, "");
  const found = /^(0|[1-9]\d{0,3})(?:\.(\d{1,2}))?$/.exec(plain);
  return found ? Number(found[1]) * 100 + Number((found[2] ?? "").padEnd(2, "0")) : null;
}

function money(minor) {
  return (minor / 100).toLocaleString("en-US", { minimumFractionDigits: 2 });
}

function counted(number, one) {
  return `${number.toLocaleString("en-US")} ${one}${number === 1 ? "" : "s"}`;
}

if (form) {
  const amount = form.elements.amount;
  const sum = document.getElementById("sum");
  const range = document.getElementById("range");
  const show = () => {
    const terms = (form.querySelector("input[name=offer]:checked") ??
                   form.querySelector("input[name=offer]")).dataset;
    const [unit, credits, least, most, step, days] =
        ["unit", "credits", "least", "most", "step", "days"].map((name) => Number(terms[name]));
    const minor = cents(amount.value);
    const isAmount = minor !== null && minor >= least && minor <= most && minor % step === 0 &&
        (minor * credits) % unit === 0;
    const bought = (minor * credits) / unit;
    sum.textContent = isAmount
      ? `${money(minor)} ${terms.currency} buys ${counted(bought, "Credit")}, ` +
        `which are valid for ${counted(days, "day")}.`
      : "";
    range.textContent =
        `From ${money(least)} to ${money(most)} ${terms.currency}, in steps of ${money(step)}.`;
  };
  form.addEventListener("input", show);
  ask?.remove();  // there is no need to ask
}
