"""The manifests are what Kubernetes and KubeRay take, and agree with each other and with the settings there are."""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from mayfly.cli import layers
from mayfly.cluster import nodes
from mayfly.cluster.settings import ClusterSettings

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
SCHEMA = json.loads(Path(__file__).with_name("raycluster.schema.json").read_text())
KUBERNETES = "1.33"


def objects() -> list[dict]:
    return [one for path in sorted(FOLDER.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]


def the(kind: str) -> dict:
    return next(one for one in objects() if one["kind"] == kind)


def pods() -> list[dict]:
    """Every pod that any of them would make."""
    spec = the("RayCluster")["spec"]
    templates = [group["template"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]
    templates += [one["spec"]["template"] for one in objects() if one["kind"] == "Deployment"]
    return [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "any"}, "spec": one["spec"]} for one in templates]


def test_the_cluster_is_as_kuberay_has_it() -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(the("RayCluster"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda spec: spec["headGroupSpec"]["rayStartParams"].update({"num-cpus": 0}),
        lambda spec: spec["workerGroupSpecs"][0].update(replica=3),
        lambda spec: spec["headGroupSpec"].pop("template"),
        lambda spec: spec["headGroupSpec"]["template"]["spec"].update(containers=[]),
        lambda spec: spec.update(gcsFaultToleranceOptions={"externalStorageNamespace": "mayfly"}),
        lambda spec: spec.update(upgradeStrategy={"type": "RollingUpdate"}),
    ],
)
def test_what_kuberay_would_refuse_is_refused(wrong) -> None:
    broken = the("RayCluster")
    wrong(broken["spec"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(broken)


def test_all_else_is_as_kubernetes_has_it() -> None:
    plain = [one for one in objects() if one["kind"] != "RayCluster"]
    assert len(plain) >= 5 and len(pods()) == 3
    for one in plain + pods():
        kubernetes_validate.validate(one, KUBERNETES, strict=True)


def test_settings_are_those_there_are(tmp_path, monkeypatch) -> None:
    told = the("ConfigMap")["data"]
    with monkeypatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        settings, origins = layers.resolve(tmp_path, {})
        cluster, _ = layers.resolve_cluster(tmp_path, {})
    assert (settings.budget, cluster.shards, origins["budget"]) == (500.0, 64, "environment")
    assert cluster.address == f"{the('RayCluster')['metadata']['name']}-head-svc:6379"
    wanted = nodes.environment(tmp_path)
    assert {name: told[name] for name in told if name.startswith("RAY_")}.items() <= wanted.items()
    assert wanted.keys() - told.keys() == {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"}


def test_what_waits_for_the_head_has_the_token() -> None:
    """KubeRay puts a container before ours in every node's pod, and gives it a copy of `env`, not of `envFrom`."""
    for pod in pods()[:2]:
        env = {one["name"]: one for one in pod["spec"]["containers"][0]["env"]}
        assert env["RAY_AUTH_MODE"]["value"] == nodes.environment(Path())["RAY_AUTH_MODE"] == "token"
        assert env["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]["key"] == "ray-token"


def test_the_nodes_hold_the_shards_while_one_is_away() -> None:
    group = the("RayCluster")["spec"]["workerGroupSpecs"][0]
    (container,) = group["template"]["spec"]["containers"]
    gigabytes = int(container["resources"]["requests"]["memory"].removesuffix("Gi")) * (group["replicas"] - 1)
    assert 0.2 * int(the("ConfigMap")["data"]["MAYFLY_CLUSTER_SHARDS"]) < gigabytes  # docs/explanation/scale.md


def test_every_secret_and_every_map_that_is_asked_for_is_there() -> None:
    there = set(the("Secret")["stringData"])
    for pod in pods():
        for container in pod["spec"]["containers"]:
            sources = [one["valueFrom"] for one in container["env"] if "valueFrom" in one]
            asked = [one["secretKeyRef"] for one in sources if "secretKeyRef" in one]
            assert asked and all(one["name"] == "mayfly-secrets" and one["key"] in there for one in asked)
            assert container["envFrom"] == [{"configMapRef": {"name": the("ConfigMap")["metadata"]["name"]}}]


def test_no_pod_is_root_or_gets_variables_that_look_like_settings() -> None:
    for pod in pods():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] and spec["enableServiceLinks"] is False
        for container in spec["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["readinessProbe"] and container["livenessProbe"]


@pytest.mark.parametrize("refused", [False, True])
def test_the_head_places_the_shards_as_soon_as_it_can(refused, tmp_path) -> None:
    """A pod is not ready before its hook has ended: so that goes on behind it, until it has succeeded."""
    (container,) = the("RayCluster")["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
    shell, dash, line = container["lifecycle"]["postStart"]["exec"]["command"]
    log, tried = tmp_path / "log", tmp_path / "mayfly"
    tried.write_text(f'#!/bin/sh\necho "mayfly $*"\ntest $(grep -c mayfly {log}) = 3 || exit 1\necho up\n')
    tried.chmod(0o755)
    here = line.replace("sleep 10", "sleep 0.01")
    for path, there in (("/proc/1/fd/1", tmp_path if refused else log), ("/var/lib/mayfly/up.log", log)):
        assert path in line
        here = here.replace(path, str(there))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert subprocess.run([shell, dash, here], env=environment, timeout=5).returncode == 0
    until = time.monotonic() + 10
    while not (log.exists() and "up\n" in log.read_text().splitlines(keepends=True)) and time.monotonic() < until:
        time.sleep(0.01)
    assert log.read_text().splitlines() == ["mayfly cluster up"] * 3 + ["up"]


def test_a_node_has_time_to_empty_itself() -> None:
    spec = the("RayCluster")["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    shards = int(the("ConfigMap")["data"]["MAYFLY_CLUSTER_SHARDS"])
    assert spec["terminationGracePeriodSeconds"] >= shards * ClusterSettings().fetch_seconds


def test_the_image_is_of_this_checkout_and_has_the_ray_of_the_manifest() -> None:
    lines = (FOLDER / "Containerfile").read_text().splitlines()
    (install,) = [line for line in lines if line.startswith("RUN ")]
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert "--constraint /mayfly/constraints.txt" in install and "constraints.txt" in copied
    assert all((ROOT / name).exists() for name in copied)
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    assert the("RayCluster")["spec"]["rayVersion"] == pinned["ray"]


def test_only_nodes_take_shards() -> None:
    head, node = the("RayCluster")["spec"]["headGroupSpec"], the("RayCluster")["spec"]["workerGroupSpecs"][0]
    assert head["rayStartParams"]["num-cpus"] == "0" and "resources" not in head["rayStartParams"]
    (word,) = shlex.split(node["rayStartParams"]["resources"])  # it goes through a shell
    assert json.loads(word) == {nodes.RESOURCE: 10000}
    assert node["rayStartParams"]["resources"].strip("'\"` ") == word  # KubeRay reads it itself, without its quotes
