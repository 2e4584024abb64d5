"""Issuing, checking and revoking DeviantArt's codes and tokens."""

import base64
import hashlib
import secrets
from collections.abc import Callable

from simulator.deviantart.errors import ApiError
from simulator.deviantart.ledger import Ledger
from simulator.deviantart.records import DEFAULT_SCOPE, Authorization, Refresh, Token, TokenPair

CODE_SECONDS = 600


class Tokens:
    """A refresh token works once: a client that lost the new one cannot refresh any more."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add_account(
        self, name: str, *, scope: str = DEFAULT_SCOPE, auto_approve: bool | None = None
    ) -> TokenPair:
        """A token pair as after an approval by the account; creates the account if it does not exist."""
        with self._ledger.changing():
            self._ledger.open_account(name, auto_approve=auto_approve)
            return self._issue(name, scope, self._ledger.next_number())

    def authorize(self, account: str, redirect_uri: str, scope: str, challenge: str) -> str:
        """A code for the account's approval."""
        with self._ledger.changing():
            self._ledger.open_account(account)
            code = secrets.token_hex(20)
            self._ledger.saved.authorizations[code] = Authorization(
                account=account,
                redirect_uri=redirect_uri,
                scope=scope,
                challenge=challenge,
                expires_at=self._ledger.clock() + CODE_SECONDS,
            )
            return code

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> TokenPair:
        with self._ledger.changing():
            # A code works for one attempt, even if that attempt fails.
            found = self._ledger.saved.authorizations.pop(code, None)
            problem = _problem(found, redirect_uri, verifier, self._ledger.clock())
            if found and problem is None:
                return self._issue(found.account, found.scope, self._ledger.next_number())
        raise ApiError(problem or "Incorrect authorization code.")

    def refresh(self, refresh_token: str) -> TokenPair:
        with self._ledger.changing():
            saved = self._ledger.saved
            token = saved.refresh_tokens.pop(refresh_token, None)
            if token:
                saved.spent_tokens[refresh_token] = token.account
            pair = None
            if token and token.expires_at > self._ledger.clock():
                pair = self._issue(token.account, token.scope, token.grant)
            self._log(saved.spent_tokens.get(refresh_token), succeeded=pair is not None)
        if pair is None:
            raise ApiError("The refresh_token is invalid.")
        return pair

    def _log(self, account: str | None, *, succeeded: bool) -> None:
        refreshes = self._ledger.saved.refreshes
        generation = sum(r.succeeded and r.account == account for r in refreshes) + succeeded
        at = self._ledger.clock()
        refreshes.append(Refresh(account=account, at=at, succeeded=succeeded, generation=generation))

    def revoke(self, token: str, *, refresh_only: bool = False) -> None:
        """Revoke all tokens that come from the same approval as this token."""
        with self._ledger.changing():
            saved = self._ledger.saved
            known = saved.access_tokens.get(token) or saved.refresh_tokens.get(token)
            if known:
                self._forget(refresh_only, lambda candidate: candidate.grant == known.grant)

    def revoke_account(self, account: str, *, refresh_only: bool = False) -> None:
        """Revoke every token of the account, or only its refresh tokens."""
        with self._ledger.changing():
            self._ledger.account(account)
            self._forget(refresh_only, lambda candidate: candidate.account == account)

    def _forget(self, refresh_only: bool, is_meant: Callable[[Token], bool]) -> None:
        saved = self._ledger.saved
        for text in [text for text, token in saved.refresh_tokens.items() if is_meant(token)]:
            saved.spent_tokens[text] = saved.refresh_tokens.pop(text).account
        if not refresh_only:
            for text in [text for text, token in saved.access_tokens.items() if is_meant(token)]:
                del saved.access_tokens[text]

    def expire_access(self, account: str) -> int:
        """Let the account's access tokens expire now. Returns their number."""
        with self._ledger.changing():
            self._ledger.account(account)
            now = self._ledger.clock()
            mine = [t for t in self._ledger.saved.access_tokens.values() if t.account == account]
            for token in mine:
                token.expires_at = min(token.expires_at, now)
            return len(mine)

    def current(self, account: str) -> TokenPair | None:
        """The newest pair that is still known, to compare with a client's stored pair."""
        with self._ledger.lock:
            saved = self._ledger.saved
            access = [text for text, token in saved.access_tokens.items() if token.account == account]
            refresh = [text for text, token in saved.refresh_tokens.items() if token.account == account]
            if not access or not refresh:
                return None
            token = saved.access_tokens[access[-1]]
            return self._pair(token.account, token.scope, access[-1], refresh[-1])

    def holder(self, access_token: str) -> Token | None:
        """The record of the access token, or None if it is unknown or has expired."""
        with self._ledger.lock:
            token = self._ledger.saved.access_tokens.get(access_token)
            return token if token and token.expires_at > self._ledger.clock() else None

    def _issue(self, account: str, scope: str, grant: int) -> TokenPair:
        saved, options, now = self._ledger.saved, self._ledger.options, self._ledger.clock()
        access, refresh = secrets.token_hex(25), secrets.token_hex(20)
        saved.access_tokens[access] = Token(
            account=account, scope=scope, grant=grant, expires_at=now + options.access_seconds
        )
        saved.refresh_tokens[refresh] = Token(
            account=account, scope=scope, grant=grant, expires_at=now + options.refresh_seconds
        )
        return self._pair(account, scope, access, refresh)

    def _pair(self, account: str, scope: str, access: str, refresh: str) -> TokenPair:
        return TokenPair(
            account=account,
            userid=self._ledger.account(account).userid,
            access_token=access,
            refresh_token=refresh,
            expires_in=int(self._ledger.options.access_seconds),
            scope=scope,
        )


def challenge_of(verifier: str) -> str:
    """The S256 challenge (RFC 7636) that belongs to a verifier."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _problem(found: Authorization | None, redirect_uri: str, verifier: str, now: float) -> str | None:
    if found is None or found.expires_at <= now:
        return "Incorrect authorization code."
    if found.redirect_uri != redirect_uri:
        return "The redirect_uri does not match."
    if not secrets.compare_digest(challenge_of(verifier), found.challenge):
        return "The code_verifier does not match the code_challenge."
    return None
