"""The gateway's replies match its OpenAPI document, headers included."""

import json
import subprocess
import unittest

from gateway import GOVDATA_IMPORT, Gateway

# Fields of HTTP itself, not of one operation.
HTTP_FIELDS = {"cache-control", "connection", "content-length", "content-type", "date", "vary",
               "access-control-allow-origin", "access-control-expose-headers", "allow",
               "content-security-policy", "referrer-policy", "x-content-type-options"}
BAD_KEY = "turnpike_sk_v1_dev_" + "0" * 49


class Documents(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(settings=["processors.manual.days_to_pay=14"])
        self.addCleanup(self.gateway.close)
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        self.gateway.directory / "govdata.db"], check=True, capture_output=True)
        self.account, self.key = self.gateway.new_key()
        self.gateway.run_json("user", "create", "--name", "Owner", "--login", "owner", "--account",
                              self.account, "--role", "owner")
        self.session = self.gateway.run_json("session", "create", "--person", "owner")["token"]
        self.gateway.start()
        self.document = self.gateway.get("/openapi.json").json()
        path = f"/v1/billing-accounts/{self.account}"
        self.offer = self.gateway.get(path + "/purchase-offers", key=self.session).json()[0]
        reply = self.gateway.call("POST", path + "/purchases", key=self.session, headers=[
            ("Content-Type", "application/json"), ("Idempotency-Key", "first")], body=self.wish())
        self.assertEqual(reply.status, 201, reply.body)
        self.purchase = reply.json()["purchaseId"]

    def wish(self, amount="10.00"):
        return json.dumps({"offerId": self.offer["offerId"],
                           "amount": {"currency": "USD", "amount": amount}}).encode()

    def resolve(self, node):
        while "$ref" in node:
            target = self.document
            for word in node["$ref"].removeprefix("#/").split("/"):
                target = target[word]
            node = target
        return node

    def check(self, operation, what, reply):
        """The status must be listed for the operation, or named in the description of `default`."""
        response = operation["responses"].get(str(reply.status))
        if response is None:
            self.assertIn(str(reply.status),
                          self.resolve(operation["responses"]["default"])["description"], what)
            return
        response = self.resolve(response)
        described = {name.lower() for name in response.get("headers", {})}
        self.assertLessEqual(set(reply.headers) - HTTP_FIELDS, described, (what, reply.status))
        media_type = reply.headers.get("content-type", "").split(";")[0]
        if reply.status not in (204, 303, 304):
            self.assertIn(media_type, response["content"], what)

    def targets(self, path):
        values = {"billing_account_id": [self.account, "acc_other"], "request_id": ["nope"],
                  "capability_id": [next(iter(self.capabilities)), "route-" + "0" * 32, "x"],
                  "kind": ["proposal"], "dao_id": ["sample-harbor-dao", "nope", "a%2Fb", "%zz"],
                  "external_id": ["x", "a" * 9000], "api_key_id": ["key_none"],
                  "provider_key": ["govdata", "nope"], "sweep_id": ["swp_none"],
                  "user_id": ["usr_none"], "invitation_id": ["inv_none"],
                  "purchase_id": [self.purchase, "pur_none"],
                  "document_action": ["invoice", "other"]}
        found = [path]
        for name, choices in values.items():
            field = "{" + name + "}"
            found = [target.replace(field, choice) for target in found
                     for choice in (choices if field in target else [""])]
        return found

    def test_every_reply_is_described(self):
        self.capabilities = [entry["capability_id"] for entry in
                             self.gateway.get("/v1/capabilities").json()["capabilities"]]
        statuses = set()
        for path, item in self.document["paths"].items():
            for method in item.keys() - {"get"}:
                self.check_changes(path, method.upper(), item[method], statuses)
            operation = item.get("get")
            for target in self.targets(path) if operation else ():
                for query in ("", "?unknown=1", "?%zz", "?limit=0", "?cursor=x",
                              "?collection=usage", "?url=http://x", "?" + "a" * 65_537):
                    for key in (self.key, self.session, None, BAD_KEY):
                        for headers in ([], [("PAYMENT-SIGNATURE", "x")],
                                        [("Transfer-Encoding", "gzip")]):
                            reply = self.gateway.get(target + query, key=key, headers=headers)
                            what = (target[:100], query[:30], bool(key), headers)
                            self.check(operation, what, reply)
                            statuses.add(reply.status)
                reply = self.gateway.get(target, key=self.key)
                if etag := reply.headers.get("etag"):
                    again = self.gateway.get(target, headers=[("If-None-Match", etag)])
                    self.check(operation, target, again)
                    statuses.add(again.status)
        self.assertLessEqual({200, 201, 304, 400, 401, 403, 404, 409, 413, 414, 415, 501}, statuses)

    def check_changes(self, path, method, operation, statuses):
        own = self.gateway.get("/v1/me", key=self.session).json()["id"]
        bodies = [None] if "requestBody" not in operation else [
            b"{}", b"{", b'{"name": "n"}', b'{"role": "member"}', b'{"role": "none"}',
            b" " * 10_000, self.wish(), self.wish("10.05")]
        for target in [*self.targets(path), *self.targets(path.replace("{user_id}", own))]:
            for body in bodies:
                for key in (self.session, self.key, None, BAD_KEY):
                    for content_type in ("application/json", "text/plain"):
                        headers = [("Content-Type", content_type)] if body else []
                        if path.endswith("/purchases"):
                            headers.append(("Idempotency-Key", "first"))
                        reply = self.gateway.call(method, target, key=key, headers=headers,
                                                  body=body)
                        self.check(operation, (method, target, body, bool(key)), reply)
                        statuses.add(reply.status)


if __name__ == "__main__":
    unittest.main()
