"""`stormcut plugin` as an operator calls it."""

import shlex
import shutil
from pathlib import Path

import pytest
import yaml

OWN = "nimbus.seeds: [one]\n"


@pytest.fixture
def storms(tmp_path):
    """Two Storm homes."""
    homes = [tmp_path / "nimbus", tmp_path / "supervisor"]
    for home in homes:
        (home / "conf").mkdir(parents=True)
        (home / "conf" / "storm.yaml").write_text(OWN)
    return homes


def untouched(storms):
    files = [path for home in storms for path in home.rglob("*") if path.is_file()]
    return [path.name for path in files] == ["storm.yaml"] * len(storms) and all(
        path.read_text() == OWN for path in files
    )


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (Path.unlink, "create it with"),
        (lambda path: path.chmod(0o640), "chmod 600"),
        (lambda path: path.write_text("stormcut\n"), "must be one line user:password"),
        (lambda path: path.write_text(""), "must be one line user:password"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is no text"),
        (lambda path: (path.unlink(), path.mkdir()), "Is a directory"),
    ],
)
def test_an_auth_file_that_nimbus_could_not_use_is_refused(
    stormcut, storms, auth_file, spoil, words
):
    spoil(auth_file)
    code, out, err = stormcut("plugin", "install", *storms, "--auth-file", auth_file)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert words in err and str(auth_file) in err
    assert untouched(storms)


def test_one_unusable_folder_keeps_all_as_they_are(stormcut, storms, auth_file):
    shutil.rmtree(storms[1] / "conf")
    code, out, err = stormcut("plugin", "install", *storms, "--auth-file", auth_file)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert untouched(storms[:1])


def test_one_unusable_folder_keeps_all_installed(stormcut, storms, auth_file):
    assert stormcut("plugin", "install", *storms, "--auth-file", auth_file)[0] == 0
    (storms[1] / "conf" / "storm.yaml").unlink()
    code, out, err = stormcut("plugin", "remove", *storms)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert list(storms[0].glob("extlib-daemon/*.jar"))


def test_in_and_out_says_what_to_restart_and_what_stays(stormcut, storms, auth_file, monkeypatch):
    monkeypatch.chdir(auth_file.parent)
    code, out, _ = stormcut("plugin", "install", storms[0], "--auth-file", auth_file.name)
    assert code == 0 and "restart Nimbus" in out
    config = yaml.safe_load((storms[0] / "conf" / "storm.yaml").read_text())
    assert config["stormcut.zookeeper.auth.file"] == str(auth_file)
    code, out, _ = stormcut("plugin", "install", storms[1])
    assert code == 0 and "No restart" in out

    code, out, _ = stormcut("plugin", "remove", *storms)
    assert code == 0
    lines = out.splitlines()
    assert f"{storms[0]}: removed the keys in conf/storm.yaml, extlib-daemon/stormcut-" in lines[0]
    assert f"{storms[1]}: removed nothing" in lines
    assert len([line for line in lines if "stays for topologies that" in line]) == 2
    assert len([line for line in lines if "restart Nimbus" in line]) == 1

    last = shlex.split(lines[-1].partition(": ")[2])
    assert last[-5:] == ["plugin", "remove", "--hook", *map(str, storms)]
    code, out, err = stormcut(*last[-5:])
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "does not answer, so topologies may carry the hook" in err
    assert list(storms[0].glob("extlib/*.jar"))
    code, out, _ = stormcut(*last[-5:], "--force")
    assert code == 0 and "restart Nimbus" not in out
    assert untouched(storms)
