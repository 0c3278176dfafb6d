"""One site's certificates, good ones and all kinds of bad ones."""

from datetime import UTC, datetime, timedelta
from shutil import copy, copytree
from unittest import mock

import pytest

from stormcut.adapters.tls import authority
from stormcut.adapters.tls.authority import Authority
from stormcut.adapters.tls.channel import AUTHORITY, REVOKED, Role, Tls

#: Clients that no brain listens to, with OpenSSL's or our word for why.
UNTRUSTED = {
    "expired": "certificate has expired",
    "revoked": "certificate revoked",
    "foreign": "unable to get local issuer certificate",
}


class Site:
    """Folders named by who has them: `brain`, `nimbus`, `operate`, `view`, and `UNTRUSTED`."""

    def __init__(self, folder):
        self.folder = folder / "authority"
        self.authority = Authority.made(self.folder, 10)
        for role in Role:
            self.authority.issue(str(role), role, ["127.0.0.1", "localhost"], 1)
        past = datetime.now(UTC) - timedelta(days=2)
        for role in (Role.BRAIN, Role.NIMBUS, Role.VIEW):
            self.authority.issue(f"expired-{role}", role, [], 1, past)
            self.authority.issue(f"revoked-{role}", role, [], 1)
            self.authority.revoke(f"revoked-{role}")
            other = Authority.made(folder / f"other-{role}", 10)
            other.issue("foreign", role, [], 1)
            foreign = self.folder / f"foreign-{role}"
            (folder / f"other-{role}" / "foreign").rename(foreign)
            # It trusts ours: what is in question is whether we trust it.
            for name in (AUTHORITY, REVOKED):
                copy(self.folder / name, foreign / name)
        # For servers, as a brain's, but of no role of ours.
        with mock.patch.object(authority, "ROLE_URI", "urn:other:role:"):
            self.authority.issue("strange-brain", Role.BRAIN, [], 1)

    def of_two_authorities(self, folder):
        """Return folders that trust this authority and another one, by name."""
        other = Authority.made(folder / "new", 10)
        for name, role in (("brain", Role.BRAIN), ("nimbus", Role.NIMBUS), ("gone", Role.NIMBUS)):
            other.issue(name, role, [], 1)
        other.revoke("gone")
        found = {f"new-{name}": folder / "new" / name for name in ("brain", "nimbus", "gone")}
        found["old-nimbus"] = folder / "old-nimbus"
        copytree(self.folder / "nimbus", found["old-nimbus"])
        for each in found.values():
            for name in (AUTHORITY, REVOKED):
                parts = [(where / name).read_text() for where in (self.folder, folder / "new")]
                (each / name).write_text("".join(parts))
        return found

    def tls(self, name):
        return Tls(self.folder / name)


@pytest.fixture(scope="session")
def tls_site(tmp_path_factory):
    return Site(tmp_path_factory.mktemp("tls"))
