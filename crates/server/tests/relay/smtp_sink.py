"""An SMTP server for tests: takes every mail, reads it as a mail program would, and prints it as one line of JSON.

The first line that it prints is its port. It ends when its input does. With `starttls` or `tls` and the files of a
certificate and its key behind the directory it speaks TLS, and nothing else to whoever wants to send. Mail to nobody@ is refused for good, and all
mail for as long as there is a file `busy` in its directory.
"""

import asyncio
import base64
import email
import email.policy
import json
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP

BUSY = pathlib.Path(sys.argv[1]) / "busy"


class Sink:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return f"550 5.1.1 <{address}> is not here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if BUSY.exists():
            print(json.dumps({"busy": True}), flush=True)
            return "451 4.3.0 come back later"
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        text, html = mail.get_body(("plain",)), mail.get_body(("html",))
        pictures = {
            part["Content-ID"]: base64.b64encode(part.get_content()).decode()
            for part in mail.walk()
            if part.get_content_type() == "image/png" and part.get_content_disposition() == "inline"
        }
        headers = [[name, str(value)] for name, value in mail.items()]
        print(
            json.dumps(
                {
                    "to": envelope.rcpt_tos,
                    "from": envelope.mail_from,
                    "headers": headers,
                    "text": text.get_content(),
                    "html": html.get_content(),
                    "pictures": pictures,
                    "defects": [str(defect) for part in mail.walk() for defect in part.defects],
                }
            ),
            flush=True,
        )
        return "250 OK"


async def main():
    loop = asyncio.get_running_loop()
    how, context = (sys.argv[2:3] or ["none"])[0], None
    if how != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
    starttls = {"tls_context": context, "require_starttls": True} if how == "starttls" else {}
    server = await loop.create_server(
        lambda: SMTP(Sink(), hostname="sink", **starttls), "127.0.0.1", 0, ssl=context if how == "tls" else None
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
