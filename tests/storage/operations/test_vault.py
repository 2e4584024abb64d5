"""Tokens at rest (P6): bound to their row, under named keys, never shown."""

import base64
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.settings.settings import load_settings
from fascicle.storage.operations.keyring import new_key, parse_keys
from fascicle.storage.operations.vault import ACCESS, REFRESH, TokenKeys, Vault

SECRET = "a-token-nobody-may-see"


def ring(*entries: str) -> TokenKeys:
    return TokenKeys(parse_keys(",".join(entries)))


def key(key_id: str, fill: int) -> str:
    return f"{key_id}:{base64.b64encode(bytes([fill]) * 32).decode()}"


def refusal(keys: TokenKeys, sealed: str, account_id: str = "a1", kind: str = ACCESS) -> PermanentError:
    with pytest.raises(PermanentError) as refused:
        keys.decrypt(sealed, account_id=account_id, kind=kind)
    assert SECRET not in str(refused.value)
    return refused.value


def test_p6_what_was_encrypted_comes_back_and_never_reads_the_same_twice() -> None:
    keys = ring(key("new", 1), key("old", 2))
    first = keys.encrypt(SECRET, account_id="a1", kind=ACCESS)
    assert first.startswith("v1.new.")
    assert SECRET not in first
    assert first != keys.encrypt(SECRET, account_id="a1", kind=ACCESS)
    assert keys.decrypt(first, account_id="a1", kind=ACCESS) == SECRET


def test_p6_a_ciphertext_is_good_in_its_own_row_and_column_only() -> None:
    keys = ring(key("k", 1))
    sealed = keys.encrypt(SECRET, account_id="a1", kind=ACCESS)
    assert refusal(keys, sealed, account_id="a2").code == "cannot_decrypt"
    assert refusal(keys, sealed, kind=REFRESH).code == "cannot_decrypt"


@pytest.mark.parametrize(
    "spoil", [lambda s: s[:-6] + "AAAAA=", lambda s: "v1.k.!!", lambda s: "v1.k.", lambda s: "x"]
)
def test_p6_a_damaged_ciphertext_is_named_so(spoil) -> None:  # type: ignore[no-untyped-def]
    keys = ring(key("k", 1))
    sealed = keys.encrypt(SECRET, account_id="a1", kind=ACCESS)
    assert refusal(keys, spoil(sealed)).code == "cannot_decrypt"


def test_p6_a_missing_key_is_named_and_a_wrong_one_does_not_fit() -> None:
    sealed = ring(key("old", 1)).encrypt(SECRET, account_id="a1", kind=ACCESS)
    missing = refusal(ring(key("new", 1)), sealed)
    assert missing.code == "key_unknown"
    assert "'old'" in missing.message
    assert "FASCICLE_TOKEN_KEYS" in missing.message
    assert refusal(ring(key("old", 9)), sealed).code == "cannot_decrypt"


def test_p6_the_first_key_encrypts_the_others_still_decrypt() -> None:
    sealed = ring(key("old", 1)).encrypt(SECRET, account_id="a1", kind=ACCESS)
    both = ring(key("new", 2), key("old", 1))
    assert both.decrypt(sealed, account_id="a1", kind=ACCESS) == SECRET
    assert both.encrypt(SECRET, account_id="a1", kind=ACCESS).startswith("v1.new.")


def test_p6_keys_do_not_show() -> None:
    line = new_key()
    encoded = line.partition(":")[2]
    vault = Vault(keys=line, file=None, made_file=Path("never"))
    assert encoded not in repr(ring(line)) + repr(vault) + str(vault)


SHORT = base64.b64encode(b"too short").decode()


@pytest.mark.parametrize(
    "keys", ["justtext", f"k:{SHORT}", "k:%%%%", f"{key('k', 1)},{key('k', 2)}", "a b:" + SHORT, " , "]
)
def test_o8_malformed_keys_are_named_without_being_shown(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    monkeypatch.setenv("FASCICLE_TOKEN_KEYS", keys)
    with pytest.raises(UsageError) as wrong:
        load_settings()
    assert "FASCICLE_TOKEN_KEYS" in wrong.value.message
    assert SHORT not in wrong.value.message
    assert "justtext" not in wrong.value.message
    assert key("k", 1).partition(":")[2] not in wrong.value.message


async def test_p6_a_key_is_made_at_first_need_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "data" / "token-keys"
    vault = Vault(keys=None, file=None, made_file=file)
    with pytest.raises(PermanentError):
        await vault.decrypt("v1.gone.AAAA", account_id="a1", kind=ACCESS)
    assert not file.exists()
    sealed = await vault.encrypt(SECRET, account_id="a1", kind=ACCESS)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == ["token-keys"]
    again = Vault(keys=None, file=None, made_file=file)
    assert await again.decrypt(sealed, account_id="a1", kind=ACCESS) == SECRET


def test_p6_two_processes_make_one_key(tmp_path: Path) -> None:
    def first_key(_: int) -> str | None:
        return Vault(keys=None, file=None, made_file=tmp_path / "token-keys")._load(True).first

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(first_key, range(8)))) == 1


async def test_p6_a_key_added_to_the_file_is_found_without_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(key("old", 1) + "\n")
    running = Vault(keys=None, file=file, made_file=tmp_path / "unused")
    await running.encrypt(SECRET, account_id="a1", kind=ACCESS)
    file.write_text(f"# the new one first\n{key('new', 2)}\n{key('old', 1)}\n")
    sealed = ring(key("new", 2)).encrypt(SECRET, account_id="a1", kind=ACCESS)
    assert await running.decrypt(sealed, account_id="a1", kind=ACCESS) == SECRET


async def test_p6_a_configured_file_that_is_missing_is_never_made(tmp_path: Path) -> None:
    vault = Vault(keys=None, file=tmp_path / "none", made_file=tmp_path / "unused")
    with pytest.raises(UsageError, match="FASCICLE_TOKEN_KEYS_FILE"):
        await vault.encrypt(SECRET, account_id="a1", kind=ACCESS)
    assert not list(tmp_path.iterdir())
