"""The page of a Checkout Session of the fake Stripe (fake_stripe.py), where a person pays or saves
a card: the HTML that a browser is shown, and what each card number leads to."""

import dataclasses
import html


@dataclasses.dataclass(frozen=True)
class Card:
    """`now`: why the page declines the card. `later`: why each charge without the person is
    declined, although the page accepts the card."""

    brand: str = "visa"
    now: dict | None = None
    later: dict | None = None
    words: str = "is good"


# These follow Stripe's test card numbers.
CARDS = {
    "4242424242424242": Card(),
    "5555555555554444": Card("mastercard"),
    "4000000000000002": Card(
        now={"code": "card_declined", "decline_code": "generic_decline"}, words="is declined"),
    "4000000000009995": Card(
        now={"code": "card_declined", "decline_code": "insufficient_funds"},
        words="is declined: too little money"),
    "4000000000000341": Card(
        later={"code": "card_declined", "decline_code": "generic_decline"},
        words="is taken, and declined when it is charged later"),
    # On the page the person is present for 3D Secure; a charge without the person is refused.
    "4000002760003184": Card(
        later={"code": "authentication_required", "decline_code": "authentication_required"},
        words="is taken, and asks for 3D Secure when it is charged later"),
}
GOOD, DECLINED = "4242424242424242", "4000000000000002"


def number_of(text):
    """The number in CARDS that `text` stands for, or None if it is not one of them."""
    plain = text.replace(" ", "").replace("-", "")
    return plain if plain in CARDS else None


def page(title, main):
    return ("<!doctype html><html lang=en><meta charset=utf-8>"
            '<meta name=viewport content="width=device-width">'
            f"<title>{html.escape(title)}</title><main>{main}</main></html>")


def money(minor, currency):
    return f"{minor // 100}.{minor % 100:02} {currency.upper()}"


def what_is_bought(session, title):
    """The heading and the lines below it."""
    if session["mode"] == "setup":
        return "<h1>Save a card</h1><p>Nothing is charged now."
    total = money(session["amount_total"], session["currency"])
    tax = session["total_details"]["amount_tax"]
    lines = f"<h1>Pay {total}</h1><p>{html.escape(title)}"
    if tax:
        lines += f"<p>Of which {money(tax, session['currency'])} are tax."
    return lines


def checkout(session, title, problem):
    """The page of an open session. `problem`: why the last card was not accepted, or None."""
    word = "Save card" if session["mode"] == "setup" else "Pay"
    cards = "".join(f"<li><code>{number}</code> {card.words}" for number, card in CARDS.items())
    main = what_is_bought(session, title)
    if problem:
        main += f"<p role=alert>The card was not taken ({html.escape(problem)}). Take another."
    main += (
        "<form method=post><p><label>Card number "
        f'<input name=number inputmode=numeric size=24 value="{GOOD}"></label>'
        f"<p><button name=do value=pay>{word}</button> "
        "<button name=do value=decline>Decline</button>")
    if session["cancel_url"]:
        main += " <button name=do value=cancel>Cancel</button>"
    return page("Fake checkout", main + f"</form><h2>Cards</h2><ul>{cards}</ul>")
