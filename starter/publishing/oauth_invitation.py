"""Asks a person for access: shows an address to open, and receives the code that comes back."""

import asyncio
import os
import sys
import webbrowser
from urllib.parse import urlsplit

from fascicle.domain.errors import UsageError
from fascicle.domain.urls import parse_http_url
from fascicle.settings.settings import Settings
from fascicle.sites.deviantart.oauth import DeviantArtOAuth, Invitation
from starter.output import errors, plain, print_note
from starter.publishing.oauth_browser import CallbackServer, read_return

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_WAIT_SECONDS = 300.0


def come_back_to(settings: Settings, redirect_uri: str | None, client_port: int | None) -> str:
    """The address to which DeviantArt redirects people."""
    if redirect_uri is not None and client_port is not None:
        raise UsageError("wrong_usage", "Either --redirect-uri or --client-port.")
    if client_port is not None:
        return f"http://127.0.0.1:{client_port}/callback"
    if redirect_uri is not None:
        parse_http_url(redirect_uri)
    return redirect_uri or settings.deviantart_redirect_uri


def is_loopback(address: str) -> bool:
    """True if we can answer at this address ourselves."""
    parts = urlsplit(address)
    return parts.scheme == "http" and parts.hostname in _LOOPBACK


async def ask_in_browser(
    oauth: DeviantArtOAuth, address: str, *, open_browser: bool
) -> tuple[Invitation, str]:
    server = CallbackServer(address)
    async with server.listening() as redirect_uri:
        invitation = oauth.invite(redirect_uri)
        server.expect(invitation.state)
        _show(invitation)
        # Without a terminal, open a browser only if $BROWSER names one.
        if open_browser and (sys.stdout.isatty() or os.environ.get("BROWSER")):
            await asyncio.to_thread(webbrowser.open, invitation.url)
        returned = await server.wait(_WAIT_SECONDS)
        return invitation, returned.checked_code(invitation.state, state_required=True)


async def ask_for_paste(oauth: DeviantArtOAuth, address: str) -> tuple[Invitation, str]:
    invitation = oauth.invite(address)
    _show(invitation)
    print_note("Paste the code, or the whole address that DeviantArt sent you to:")
    pasted = await asyncio.to_thread(sys.stdin.readline)
    if not pasted.strip():
        raise UsageError("no_code", "Nothing was pasted.")
    return invitation, read_return(pasted).checked_code(invitation.state, state_required=False)


def _show(invitation: Invitation) -> None:
    """Print to stderr: stdout is for the result."""
    errors.print("Open this address and allow the access:", soft_wrap=True)
    errors.print(plain(invitation.url), soft_wrap=True)
