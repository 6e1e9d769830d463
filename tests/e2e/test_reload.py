"""Reload: the whole new program serves, or the old one with a reason, and no request is dropped."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import unittest

from gateway import BUILD, GOVDATA_IMPORT, ROOT, Gateway

TARGET = "/v1/gateway/govdata/global/v1/daos"


class Reload(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway()
        self.addCleanup(self.gateway.close)
        # A registry that belongs to the test, which may break it.
        self.registry = self.gateway.directory / "registry"
        shutil.copytree(ROOT / "registry", self.registry)
        self.gateway.settings.append(f"registry.path={self.registry}")
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        self.gateway.directory / "govdata.db"], check=True, capture_output=True)
        _, self.key = self.gateway.new_key(credits=1_000_000)

    def generation(self):
        return self.gateway.get("/v1/capabilities?limit=1").json()["generation"]

    def edit(self, text_of):
        path = self.registry / "providers" / "govdata.yaml"
        path.write_text(text_of(path.read_text()))

    def test_a_valid_change_is_a_new_generation_and_an_older_one_keeps_its_name(self):
        self.gateway.start()
        before = self.generation()
        original = (self.registry / "providers" / "govdata.yaml").read_text()
        self.edit(lambda text: text + "\n# a comment changes nothing\n")
        self.assertEqual(self.gateway.run("reload").returncode, 0)
        self.assertEqual(self.generation()["payload_hash"], before["payload_hash"])
        self.edit(self.change)
        result = self.gateway.run("reload", "--json")
        after = self.generation()
        self.assertTrue(json.loads(result.stdout)["ok"])
        self.assertEqual(after["sequence"], before["sequence"] + 1)
        self.assertNotEqual(after["payload_hash"], before["payload_hash"])
        self.edit(lambda text: original)
        self.gateway.run("reload")
        self.assertEqual(self.generation(), before)

    @staticmethod
    def change(text):
        """Summaries are not part of a route's definition, so no revision has to be raised."""
        return text.replace("summary: The DAOs in the store\n", "summary: DAOs, changed\n")

    def test_an_invalid_change_keeps_the_old_program_and_says_why(self):
        self.gateway.start()
        before = self.generation()
        self.edit(lambda text: text + "\nnot_a_key: 1\n")
        result = self.gateway.run("reload", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("govdata.yaml:", result.stderr)
        self.assertIn('unknown key "not_a_key"', result.stderr)
        self.assertIn("the program that was serving is kept", result.stderr)
        self.assertEqual(self.generation(), before)
        self.assertEqual(self.gateway.get(TARGET, key=self.key).status, 200)

    def test_without_a_valid_program_it_starts_says_503_and_a_reload_repairs_it(self):
        good = (self.registry / "providers" / "govdata.yaml").read_text()
        self.edit(lambda text: "not_a_key: 1\n")
        self.gateway.start()
        self.assertEqual(self.gateway.get("/healthz").status, 200)
        self.assertEqual(self.gateway.get("/readyz").status, 503)
        for target in ("/v1/capabilities", "/openapi.json", "/v1/operation-pricing-inventory",
                       TARGET):
            reply = self.gateway.get(target, key=self.key)
            self.assertEqual((reply.status, reply.error_code()), (503, "registry.unavailable"))
        self.edit(lambda text: good)
        self.assertEqual(self.gateway.run("reload").returncode, 0)
        self.assertEqual(self.gateway.get("/readyz").status, 200)
        self.assertEqual(self.gateway.get(TARGET, key=self.key).status, 200)

    def test_no_request_is_dropped_while_programs_change(self):
        self.gateway.start()
        stop = threading.Event()
        statuses, failures = {}, []

        def call():
            while not stop.is_set():
                try:
                    status = self.gateway.get(TARGET, key=self.key).status
                    statuses[status] = statuses.get(status, 0) + 1
                except OSError as error:
                    failures.append(error)

        callers = [threading.Thread(target=call) for _ in range(16)]
        for caller in callers:
            caller.start()
        first = self.generation()
        self.addCleanup(stop.set)
        for round_number in range(10):
            if round_number % 2 == 0:
                self.edit(self.change)
            else:
                self.edit(lambda text: text.replace("summary: DAOs, changed\n",
                                                    "summary: The DAOs in the store\n"))
            self.gateway.run("reload")
        self.gateway.process.send_signal(signal.SIGHUP)
        stop.set()
        for caller in callers:
            caller.join()
        self.assertEqual(failures, [])
        self.assertEqual(list(statuses), [200], statuses)
        self.assertEqual(self.generation()["payload_hash"], first["payload_hash"])

    ACME = """provider: {key: acme, name: Acme weather}
prices: {acme.standard: {version: 1, credit_cost: 3}}
upstreams:
  acme-api:
    plugin: http
    settings:
      base_url: https://api.acme.example/v2
      prefix: /v1/gateway/acme
      credential: {header: X-Api-Key, value: {secret: {file: acme.key}}}
routes:
  - {path: "/now", price: acme.standard}
"""

    def problems_of_check(self):
        """The lines that `check` prints for a registry that it refuses."""
        result = self.gateway.run("check", check=False)
        self.assertEqual(result.returncode, 1)
        return [line for line in result.stderr.splitlines() if not line.startswith("note: ")]

    def write_acme(self, text=ACME):
        path = self.registry / "providers" / "acme.yaml"
        path.write_text(text)
        return path

    def test_check_reports_what_plugins_refuse(self):
        for wrong, place, message in (
                ("base_url: api", "7:17: upstreams.acme-api.settings.base_url", "https:// or http"),
                ("base_ulr: https://api", "7:17: upstreams.acme-api.settings.base_ulr",
                 "did you mean `base_url`?")):
            path = self.write_acme(self.ACME.replace("base_url: https://api", wrong))
            result = self.gateway.run("check", check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{path}:{place}: ", result.stderr)
            self.assertIn(message, result.stderr)
        path = self.write_acme(self.ACME.replace("{secret: {file: acme.key}}", "s3cret"))
        self.assertIn(f"{path}:9:46: upstreams.acme-api.settings.credential.value: ",
                      self.gateway.run("check", check=False).stderr)

    def test_check_tells_every_mistake_that_plugins_refuse(self):
        """All mistakes are reported at once, and those of a route's settings at the route."""
        path = self.write_acme(
            self.ACME.replace("base_url: https://api.acme.example/v2",
                              "base_url: api\n      connect_timeout_ms: 0\n"
                              "      breaker: {percent: 0, statuses: [500, 404]}")
            + "  - path: /then\n    price: acme.standard\n    methods: [GET, POST]\n"
              "    body: {max_bytes: 100, media_types: [application/json]}\n"
              "    upstream_settings: {path: then, retyr: safe}\n")
        found = [line.split(": ", 2)[:2] for line in self.problems_of_check()
                 if line.startswith(str(path))]
        upstream, route = "upstreams.acme-api.settings.", "routes[/v1/gateway/acme/then]."
        self.assertEqual(sorted(found), sorted([f"{path}:{place}", name] for place, name in (
            ("7:17", upstream + "base_url"), ("8:27", upstream + "connect_timeout_ms"),
            ("9:26", upstream + "breaker.percent"), ("9:45", upstream + "breaker.statuses[1]"),
            ("18:31", route + "upstream_settings.path"),
            ("18:44", route + "upstream_settings.retyr"))))

    @unittest.skipUnless((BUILD / "plugins" / "x402.so").exists(), "the lane is not built")
    def test_check_tells_every_mistake_of_a_lane(self):
        config = self.gateway.directory / "turnpike.yaml"
        config.write_text("lanes:\n  x402:\n    max_timeout_seconds: 1\n    facilitators:\n"
                          "      - {url: facilitator, verify_timeout_ms: 0}\n")
        self.gateway.config = config
        self.assertEqual(
            sorted(line.split(": ", 2)[:2] for line in self.problems_of_check()[:-1]),
            sorted([f"{config}:{place}", "lanes.x402." + name] for place, name in (
                ("3:26", "max_timeout_seconds"), ("5:15", "facilitators[0].url"),
                ("5:47", "facilitators[0].verify_timeout_ms"))))

    def test_a_secret_that_is_missing_is_named_and_a_reload_takes_it(self):
        path = self.write_acme()
        key = path.with_name("acme.key")
        sentence = f"{path}:9:46: upstreams.acme-api: the file {key} cannot be read"
        self.assertIn("note: " + sentence, self.gateway.run("check").stderr)
        self.gateway.start()
        result = self.gateway.run("reload")
        self.assertIn("note: " + sentence, result.stderr)
        self.assertIn("serving generation", result.stdout)
        target = "/v1/gateway/acme/now"
        blocked = self.gateway.get(target, key=self.key)
        self.assertEqual((blocked.status, blocked.error_code()),
                         (503, "gateway.upstream_credential"))
        key.write_text("s3cret\n")
        self.assertNotIn("note:", self.gateway.run("reload").stderr)
        detail = self.gateway.get("/v1/capabilities?provider_key=acme").json()
        self.assertEqual(detail["capabilities"][0]["readiness"], {"status": "ready"})
        self.gateway.stop()
        lines = [line for line in self.gateway.log_text().splitlines() if "secret_missing" in line]
        self.assertEqual(len(lines), 2)  # at the start and at the first reload
        self.assertIn(sentence, lines[0])
        self.assertNotIn("s3cret", self.gateway.log_text())

    def test_a_folder_that_is_empty_takes_nothing_out_of_service(self):
        self.gateway.start()
        before = self.generation()
        self.registry.rename(self.registry.with_name("elsewhere"))
        for make in (lambda: None, self.registry.mkdir):
            make()
            self.assertEqual(self.gateway.run("reload", check=False).returncode, 1)
        self.assertEqual(self.generation(), before)

    def test_a_price_that_changed_under_its_version_is_refused_by_name(self):
        self.gateway.settings.append("environment=staging")
        self.write_acme()
        self.gateway.start()
        path = self.write_acme(self.ACME.replace("credit_cost: 3", "credit_cost: 4"))
        refusal = self.gateway.run("reload", check=False).stderr
        self.assertIn(f"{path}:2:25: prices.acme.standard: version 1 of price acme.standard is "
                      "installed with another definition", refusal)
        self.assertIn("/credit_cost was 3, is 4", refusal)
        self.assertEqual(self.problems_of_check()[0], refusal.splitlines()[0])
        self.write_acme(self.ACME.replace("version: 1, credit_cost: 3",
                                          "version: 2, credit_cost: 4"))
        self.assertEqual(self.gateway.run("reload").returncode, 0)
        self.write_acme()  # back to what was installed
        self.assertEqual(self.gateway.run("reload").returncode, 0)

    def test_in_development_a_definition_may_change_under_its_revision_with_a_note(self):
        self.write_acme()
        self.gateway.start()
        path = self.write_acme(self.ACME.replace("credit_cost: 3", "credit_cost: 4"))
        for command in ("check", "reload"):
            note = self.gateway.run(command).stderr
            self.assertIn(f"note: `environment: development` lets this pass: {path}:2:25: ", note)
            self.assertIn("/credit_cost was 3, is 4", note)
        self.assertEqual(self.gateway.run("reload").stderr.count("lets this pass"), 0)

    def test_bump_raises_what_needs_it_and_the_reload_passes(self):
        self.gateway.settings.append("environment=staging")
        self.write_acme()
        self.gateway.start()
        path = self.write_acme("# Mine.\n" + self.ACME.replace(
            "credit_cost: 3", "credit_cost: 4").replace("/v2", "/v3"))
        path.chmod(0o640)
        self.assertEqual(self.gateway.run("reload", check=False).returncode, 1)
        text = path.read_text()
        dry = self.gateway.run("registry", "bump", "--dry-run")
        self.assertIn(f"{path}:3: prices.acme.standard: version would be 2", dry.stdout)
        self.assertEqual(path.read_text(), text)
        raised = self.gateway.run_json("registry", "bump")["raised"]
        self.assertEqual([each["path"] for each in raised],
                         ["prices.acme.standard", "upstreams.acme-api"])
        self.assertEqual(path.read_text(), text.replace("version: 1", "version: 2").replace(
            "plugin: http\n", "plugin: http\n    revision: 2\n"))
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertEqual(self.gateway.run("reload").returncode, 0)
        self.assertIn("nothing to raise", self.gateway.run("registry", "bump").stdout)

    def readiness(self):
        reply = self.gateway.get("/readyz")
        registry = next(check for check in reply.json()["checks"] if check["name"] == "registry")
        return reply.status, registry.get("detail", "")

    def log_lines(self, event):
        lines = map(json.loads, self.gateway.log_text().splitlines())
        return [line for line in lines if line["event"] == event]

    def test_a_start_whose_files_are_refused_serves_what_was_installed_last(self):
        good = (self.registry / "providers" / "govdata.yaml").read_text()
        acme = self.write_acme()
        acme.with_name("acme.key").write_text("s3cret\n")
        self.gateway.start()
        before = self.generation()
        self.gateway.stop()
        self.edit(lambda text: text + "\nnot_a_key: 1\n")
        self.gateway.start()
        self.assertEqual(self.generation(), before)
        self.assertEqual(self.gateway.get(TARGET, key=self.key).status, 200)
        status, detail = self.readiness()
        self.assertEqual(status, 200)
        self.assertIn("files were refused at the start; serving " + before["id"], detail)
        self.assertIn("not_a_key", self.log_lines("registry_refused")[0]["problem"])
        fallback, = self.log_lines("registry_fallback")
        self.assertEqual((fallback["generation"], fallback["severity"]), (before["id"], "error"))
        # Its secrets are references, which are resolved from where the files are.
        self.assertEqual(self.log_lines("secret_missing"), [])
        self.assertEqual(self.gateway.run("reload", check=False).returncode, 1)
        self.assertIn("the last reload was refused", self.readiness()[1])
        self.edit(lambda text: good)
        self.assertEqual(self.gateway.run("reload").returncode, 0)
        self.assertEqual(self.readiness(), (200, ""))

    def test_a_strict_start_ends_where_the_files_are_refused(self):
        self.gateway.start()
        self.gateway.stop()
        self.edit(lambda text: text + "\nnot_a_key: 1\n")
        result = subprocess.run([*self.gateway.command("serve"), "--strict-registry"],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn("the registry was refused: ", result.stderr)
        self.assertIn('unknown key "not_a_key"', result.stderr)

    def test_diff_history_and_rollback_of_a_running_gateway(self):
        self.gateway.start()
        first = self.generation()
        self.edit(self.change)
        diff = self.gateway.run("registry", "diff").stdout
        self.assertIn(f"from {first['id']}, which serves, to the files in {self.registry}", diff)
        self.assertIn('/summary: "The DAOs in the store" -> "DAOs, changed"', diff)
        self.assertEqual(self.gateway.run_json("registry", "diff")["generation"], first["id"])
        self.gateway.run("reload")
        second = self.generation()
        self.assertIn("no difference", self.gateway.run("registry", "diff").stdout)

        back = self.gateway.run("registry", "rollback", first["id"])
        self.assertIn("serving generation " + first["id"], back.stdout)
        self.assertIn(f"note: rolled back from {second['id']}: a restart keeps", back.stderr)
        self.assertEqual(self.generation()["id"], first["id"])
        self.assertIn("rolled back to " + first["id"], self.readiness()[1])
        items = self.gateway.run_json("registry", "history")["items"]
        self.assertEqual([item["generation"] for item in items],
                         [first["id"], second["id"], first["id"]])
        self.assertEqual([item["rolledBackFrom"] for item in items], [second["id"], None, None])
        again = self.gateway.run("registry", "rollback", first["id"], check=False)
        self.assertIn("installed last", again.stderr)
        unknown = self.gateway.run("registry", "rollback", "gen_none", check=False)
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("no generation of this id was installed", unknown.stderr)

        # A restart keeps the rolled-back program while the files are unchanged; a reload reads them
        # again.
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(self.generation()["id"], first["id"])
        self.assertIn("rolled back to " + first["id"], self.readiness()[1])
        self.gateway.run("reload")
        self.assertEqual(self.generation()["id"], second["id"])
        self.assertEqual(self.readiness(), (200, ""))

        # If no gateway runs, the next start serves it.
        self.gateway.stop()
        offline = self.gateway.run("registry", "rollback", first["id"])
        self.assertIn("the next start serves " + first["id"], offline.stdout)
        self.gateway.start()
        self.assertEqual(self.generation()["id"], first["id"])
        self.gateway.stop()
        self.edit(lambda text: text.replace("DAOs, changed", "DAOs, mended"))
        self.gateway.start()
        self.assertNotIn(self.generation()["id"], (first["id"], second["id"]))

    def test_what_no_command_says_and_names_that_are_no_text_end_no_gateway(self):
        self.gateway.start()
        before = self.generation()
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.gateway.directory / "control.sock"))
            control.sendall(b'{"command": 1}\n')
            self.assertIn(b"unknown command", control.recv(4096))
        name = os.fsencode(self.registry) + b"/\xff.yaml"
        with open(name, "w") as file:
            file.write("not_a_key: 1\n")
        for words in (["reload", "--json"], ["check", "--json"]):
            problems = json.loads(self.gateway.run(*words, check=False).stdout)["problems"]
            self.assertIn('unknown key "not_a_key"', problems[0]["message"])
        self.assertEqual(self.generation(), before)

    def test_check_tells_the_mistakes_behind_a_refused_revision(self):
        """A definition that differs from the installed one may also be wrong in itself."""
        self.gateway.settings.append("environment=staging")
        self.write_acme()
        self.gateway.start()
        self.gateway.stop()
        path = self.write_acme(self.ACME.replace("credit_cost: 3", "credit_cost: 4")
                               .replace("base_url: https://api", "base_url: api"))
        problems = self.gateway.run("check", check=False).stderr
        self.assertIn(f"{path}:2:25: prices.acme.standard: version 1 of price acme.standard is "
                      "installed with another definition", problems)
        self.assertIn(f"{path}:7:17: upstreams.acme-api.settings.base_url: ", problems)
        self.assertIn("upstreams.acme-api: ", problems)  # the revision of the upstream
        self.assertEqual(problems.splitlines()[-1], "3 problems")

    def test_check_notes_an_upstream_that_no_call_may_reach(self):
        self.write_acme(self.ACME.replace("https://api.acme.example/v2", "https://127.0.0.1:9"))
        note = "note: plugin http: upstream acme-api: https://127.0.0.1:9 is this machine"
        self.assertIn(note, self.gateway.run("check").stderr)
        self.write_acme(self.ACME.replace("https://api.acme.example/v2", "https://127.0.0.1:9\n"
                                          "      allow_private_addresses: true"))
        self.assertNotIn("plugin http", self.gateway.run("check").stderr)

    def test_check_notes_what_no_route_uses(self):
        path = self.write_acme(
            self.ACME.replace("credit_cost: 3}", "credit_cost: 3}, acme.old: {version: 1, "
                                                 "credit_cost: 1}")
            + "query_policies: {acme.none: {parameters: {a: {type: boolean}}}}\n")
        notes = [line for line in self.gateway.run("check").stderr.splitlines()
                 if line.startswith(f"note: {path}:") and "no route uses" in line]
        self.assertEqual([line.split(": ", 3)[2:] for line in notes], [
            ["prices.acme.old", "no route uses this price"],
            ["query_policies.acme.none", "no route uses this query policy"]])

    def test_check_notes_an_operator_listener_on_all_addresses(self):
        self.gateway.settings.append("hosts.operator.listen=0.0.0.0:0")
        self.assertIn("note: hosts.operator.listen is 0.0.0.0:0, which is every address",
                      self.gateway.run("check").stderr)
        self.gateway.settings.append("hosts.operator.listen=127.0.0.1:0")
        self.assertNotIn("hosts.operator", self.gateway.run("check").stderr)

    def test_two_hosts_on_one_port_are_refused_by_name(self):
        self.gateway.settings += ["hosts.api.listen=127.0.0.1:8402",
                                  "hosts.operator.listen=0.0.0.0:8402"]
        for command in ("check", "serve"):
            result = self.gateway.run(command, check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn("hosts.operator: listens on 0.0.0.0:8402, and hosts.api on "
                          "127.0.0.1:8402", result.stderr)

    def test_check_reports_every_problem_at_once(self):
        directory = pathlib.Path(self.registry)
        (directory / "providers" / "broken.yaml").write_text(
            "provider: {key: broken}\nroutes:\n  - {path: /x, revizion: 1}\n")
        result = self.gateway.run("check", check=False)
        self.assertEqual(result.returncode, 1)
        problems = [line for line in result.stderr.splitlines() if "broken.yaml:" in line]
        self.assertGreaterEqual(len(problems), 2, result.stderr)
        self.assertIn("revision", result.stderr)  # the nearest known name
        listed = json.loads(self.gateway.run("check", "--json", check=False).stdout)
        self.assertGreaterEqual(len(listed["problems"]), 2)


if __name__ == "__main__":
    unittest.main()
