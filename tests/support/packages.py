"""The Debian packages of this build."""

import os
import pathlib
import re
import shutil
import subprocess

BUILD = pathlib.Path(os.environ["TELLTALE_BUILD"])
NAMES = ("telltale", "telltale-agent", "telltale-collector")


def build():
    """By name. ctest has made them before it starts those that need them, and says so; a test that is run by hand makes
    them itself, and wants no other beside it that does."""
    if "TELLTALE_PACKAGES_MADE" not in os.environ:
        done = subprocess.run(["cmake", "--build", BUILD, "--target", "packages"], capture_output=True, text=True,
                              timeout=600)
        if done.returncode != 0:
            raise RuntimeError(f"building packages: {done.stdout[-4000:]}{done.stderr[-4000:]}")
    return {name: next((BUILD / "packages").glob(f"{name}_*.deb")) for name in NAMES}


def newer(package, folder, change=lambda tree: None):
    """The same package one version on, its files changed by `change`."""
    tree = pathlib.Path(folder) / package.stem
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^(Version: .*)$", r"\1.next", control.read_text(), flags=re.M))
    change(tree)
    out = pathlib.Path(folder) / f"{package.stem}-next.deb"
    subprocess.run(["dpkg-deb", "-Znone", "-b", tree, out], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return out
