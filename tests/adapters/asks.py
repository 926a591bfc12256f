"""A program as people write them for the adapter `command`: it asks a chat API and prints."""

import json
import os
import sys
import urllib.error
import urllib.request

_EXITS = {400: 78, 404: 78, 413: 78, 401: 77, 403: 77, 429: 75, 503: 75, 529: 75, 500: 75}


def main() -> None:
    body = json.dumps({"model": "any", "messages": [{"role": "user", "content": sys.stdin.read()}]})
    request = urllib.request.Request(os.environ["MODEL_URL"] + "/v1/chat/completions",
                                     body.encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as reply:
            document = json.loads(reply.read())
    except urllib.error.HTTPError as fault:
        print(fault.read().decode(), file=sys.stderr)
        sys.exit(_EXITS.get(fault.code, 1))
    except (OSError, ValueError) as fault:
        print(fault, file=sys.stderr)
        sys.exit(69)
    print(document["choices"][0]["message"]["content"] or "")


if __name__ == "__main__":
    main()
