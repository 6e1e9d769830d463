"""Runs Lighthouse on the public pages, speed included, which needs an otherwise idle machine:
`./dev shots` runs it. Fails below 95 for performance and below 100 for the other categories."""

import sys

from scene import Scene
from walks import walk

PATHS = ("/", "/pricing", "/products", "/products/govdata", "/developers", "/developers/calling",
         "/developers/errors", "/status", "/discovery", "/discovery/sources/govdata", "/blog",
         "/agents", "/privacy-policy", "/login")
WANTED = {"performance": 95}  # of 100; the other categories must reach 100


def main():
    scene = Scene()
    try:
        found = walk("lighthouse.mjs", {"urls": [scene.origin + path for path in PATHS],
                                        "wanted": WANTED["performance"]})
    finally:
        scene.close()
    bad = 0
    for path, page in zip(PATHS, found):
        scores = page["scores"]
        print(f"{path:27}", " ".join(f"{name} {score}" for name, score in scores.items()),
              "" if page["isListed"] else "(search engines are told to leave it out: no seo)")
        for name, score in scores.items():
            if (score or 0) < WANTED.get(name, 100):
                bad += 1
                print("   ", "; ".join(one for one in page["failed"] if one.startswith(name)))
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
