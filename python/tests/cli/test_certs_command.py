"""`stormcut certs`: what it writes, what it refuses, and that nothing is overwritten."""

import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from stormcut.adapters.tls.channel import Role, Tls


@pytest.fixture
def folder(stormcut, tmp_path):
    assert stormcut("certs", "init", tmp_path / "a")[0] == 0
    return tmp_path / "a"


def content(folder):
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def certificate(path):
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_keys_are_for_their_owner_and_of_p_256(stormcut, folder):
    assert stormcut("certs", "issue", folder, "b", "--role", "brain")[0] == 0
    for key in (folder / "ca.key", folder / "b" / "key.pem"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    for each in (folder / "ca.pem", folder / "b" / "certificate.pem"):
        assert isinstance(certificate(each).public_key().curve, ec.SECP256R1)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not [each for each in content(folder) if each.name.startswith(".")]


@pytest.mark.parametrize("role", Role)
def test_what_is_issued_can_be_used_and_names_its_role_and_hosts(stormcut, folder, role):
    hosts = ("--host", "10.0.0.7", "--host", "::1", "--host", "b.example.org")
    stormcut("certs", "issue", folder, "x", "--role", role, "--days", "3", *hosts)
    Tls(folder / "x").check_role(role)
    made = certificate(folder / "x" / "certificate.pem")
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["b.example.org"]
    assert len(names.get_values_for_type(x509.IPAddress)) == 2
    left = made.not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=2, hours=23) < left < timedelta(days=3)
    made.verify_directly_issued_by(certificate(folder / "ca.pem"))


def test_none_outlives_its_authority(stormcut, tmp_path):
    folder = tmp_path / "short"
    stormcut("certs", "init", folder, "--days", "2")
    stormcut("certs", "issue", folder, "x", "--role", "view")
    ends = certificate(folder / "ca.pem").not_valid_after_utc
    assert certificate(folder / "x" / "certificate.pem").not_valid_after_utc == ends


def test_who_is_revoked_is_listed_also_when_its_folder_is_gone(stormcut, folder):
    for name, role in (("b", "brain"), ("n", "nimbus"), ("m", "nimbus")):
        stormcut("certs", "issue", folder, name, "--role", role)
    (folder / "n").rename(folder.parent / "elsewhere")
    code, out, _ = stormcut("certs", "revoke", folder, "n")
    assert code == 0
    assert f"{folder}/crl.pem" in out
    assert stormcut("certs", "revoke", folder, "m")[0] == 0
    crl = x509.load_pem_x509_crl((folder / "b" / "crl.pem").read_bytes())
    assert crl.is_signature_valid(certificate(folder / "ca.pem").public_key())
    assert len(crl) == 2
    lines = stormcut("certs", "show", folder)[1].splitlines()
    assert [line.split()[0] for line in lines if "─" not in line] == ["name", "b", "m", "n"]
    assert [line.split()[-1] == "-" for line in lines[2:]] == [True, False, False]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("init", "{a}"), "is there already"),
        (("issue", "{a}", "b", "--role", "view"), "this name is taken"),
        (("issue", "{a}", "issued", "--role", "view"), "is no name"),
        (("issue", "{a}", "../x", "--role", "view"), "is no name"),
        (("issue", "{a}", "x", "--role", "view", "--host", "a b"), "of a host"),
        (("issue", "{a}", "x", "--role", "king"), "'king' is not one of"),
        (("issue", "{a}", "x", "--role", "view", "--days", "0"), "--days"),
        (("issue", "{a}/b", "x", "--role", "view"), "stormcut certs init"),
        (("revoke", "{a}", "x"), "was not issued here (issued: b)"),
        (("show", "{a}/b"), "stormcut certs init"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(stormcut, folder, arguments, words):
    stormcut("certs", "issue", folder, "b", "--role", "brain")
    before = content(folder)
    code, out, err = stormcut("certs", *(each.format(a=folder) for each in arguments))
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert words in err
    assert content(folder) == before


def test_revoking_twice_is_said(stormcut, folder):
    stormcut("certs", "issue", folder, "b", "--role", "brain")
    assert stormcut("certs", "revoke", folder, "b")[0] == 0
    assert "is revoked already" in stormcut("certs", "revoke", folder, "b")[2]


@pytest.mark.parametrize("name", ["ca.key", "ca.pem", "crl.pem", "issued/b.pem"])
def test_a_damaged_authority_is_named(stormcut, folder, name):
    stormcut("certs", "issue", folder, "b", "--role", "brain")
    (folder / name).write_text("x")
    code, _, err = stormcut("certs", "show", folder)
    assert (code, err.count("\n")) == (2, 1)
    assert str(folder) in err
