"""docker-compose.yml (O7): no engine runs here, so it is held against all that reads it or is named in it."""

import json
import re
import shlex
import subprocess
from importlib.resources import files
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from opentelemetry.sdk import environment_variables
from starlette.routing import Route
from temporalio.envconfig import ClientConfig

from fascicle.domain.names import TASK_QUEUES
from fascicle.embedded.datafolder import POSTGRES_MAJOR
from fascicle.embedded.temporal import DYNAMIC_CONFIG
from fascicle.sandbox.limits import MEMORY
from fascicle.settings.settings import Settings
from fascicle.web.ops import OpsProbes, ops_app
from tests.deploy.commands import check_command
from tests.deploy.files import (
    ROOT,
    Unset,
    compose,
    compose_variables,
    example_variables,
    filled_env,
    image_environment,
    instructions,
    interpolated,
    ours,
    seconds,
    services,
    text,
    yaml_file,
)

# What the official images read; a misspelt one would be passed over in silence.
FOREIGN = {
    "postgres": r"POSTGRES_(USER|PASSWORD)|POSTGRES_(FASCICLE|TEMPORAL)_PASSWORD",
    "temporalio/admin-tools": r"SQL_(HOST|PORT|USER|PASSWORD)",
    "temporalio/server": r"DB|DB_PORT|POSTGRES_(SEEDS|USER|PWD)|(VISIBILITY_)?DBNAME|NUM_HISTORY_SHARDS"
    r"|BIND_ON_IP|DYNAMIC_CONFIG_FILE_PATH|PROMETHEUS_ENDPOINT|LOG_LEVEL|TEMPORAL_ALLOW_NO_AUTH",
    "temporalio/ui": r"TEMPORAL_(ADDRESS|DEFAULT_NAMESPACE|CSRF_COOKIE_INSECURE|NOTIFY_ON_NEW_VERSION)",
    "grafana/grafana": r"GF_SECURITY_ADMIN_PASSWORD|GF_USERS_ALLOW_SIGN_UP"
    r"|GF_ANALYTICS_(REPORTING_ENABLED|CHECK_FOR_UPDATES)",
}
NAMES = sorted(services())
PINNED = ("FASCICLE_DATA_DIR", "FASCICLE_OPS_HOST", "FASCICLE_OPS_PORT")
FASCICLES = sorted(ours())


def image_of(name: str) -> tuple[str, str]:
    image, _, tag = services()[name]["image"].rpartition(":")
    return image, tag


def is_setting(name: str) -> bool:
    if name.startswith("TEMPORAL_"):
        return _moves_temporals_client(name)
    if name.startswith("OTEL_"):
        return hasattr(environment_variables, name)
    return name == "DATABASE_URL" or name.removeprefix("FASCICLE_").lower() in Settings.model_fields


def _moves_temporals_client(name: str) -> bool:
    """Whether the SDK's own configuration takes notice of it."""

    def read(**env: str) -> Any:
        return ClientConfig.load_client_connect_config(disable_file=True, override_env_vars=env)

    return bool(read(**{name: "true"}) != read())


def ops_paths() -> set[str]:
    async def up() -> bool:
        return True

    async def about() -> dict[str, Any]:
        return {}

    async def state() -> str:
        return ""

    probes = OpsProbes(up, up, lambda: "running", lambda: True, lambda: 0, about, state, state)
    return {route.path for route in ops_app(probes).routes if isinstance(route, Route)}


def test_o7_it_is_a_compose_file() -> None:
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    validator = Draft7Validator(json.loads(schema.read_text()))
    assert [error.message for error in validator.iter_errors(yaml_file("docker-compose.yml"))] == []


@pytest.mark.parametrize("name", sorted(filled_env()))
def test_x7_a_password_that_is_missing_is_named(name: str) -> None:
    with pytest.raises(Unset, match=rf"{name}: .*\.env\.example"):
        interpolated(yaml_file("docker-compose.yml"), filled_env() | {name: ""})


def test_o7_what_compose_asks_for_is_in_the_example_and_the_other_way_round() -> None:
    example = set(example_variables())
    assert compose_variables() <= example
    assert {name for name in example - compose_variables() if not is_setting(name)} == set()


def test_o7_the_examples_in_the_example_are_good_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in example_variables().items():
        monkeypatch.setenv(name, value)
    assert Settings().history_days == 7


@pytest.mark.parametrize("name", NAMES)
def test_o7_every_variable_is_one_that_the_service_reads(name: str) -> None:
    given = services()[name].get("environment", {})
    if name in FASCICLES:
        assert {key for key, value in given.items() if value and not is_setting(key)} == {"PGPASSWORD"}
        assert {key for key, value in given.items() if not value} == set(filled_env()), "others' passwords"
    elif given:
        image, _ = image_of(name)
        assert [key for key in given if not re.fullmatch(FOREIGN[image], key)] == []


@pytest.mark.parametrize("name", FASCICLES)
def test_o7_every_command_is_one_of_ours(name: str) -> None:
    service = services()[name]
    check_command([*service.get("entrypoint", []), *service["command"]])


def test_o7_health_checks_ask_for_pages_that_exist() -> None:
    test = services()["worker"]["healthcheck"]["test"]
    assert test[-1] == "/ready"
    assert {test[-1], json.loads(instructions("HEALTHCHECK")[0].split("CMD ")[1])[-1]} <= ops_paths()
    check_command(test[1:])
    for name in NAMES:
        one_shot = services()[name]["restart"] == "no"
        check = services()[name].get("healthcheck", {})
        assert one_shot or check["test"][0] == "CMD", f"{name} has none"
        for waited_for, how in services()[name].get("depends_on", {}).items():
            ends = services()[waited_for]["restart"] == "no"
            assert how["condition"] == ("service_completed_successfully" if ends else "service_healthy")


def test_o2_a_worker_is_given_longer_than_its_drain() -> None:
    assert seconds(services()["worker"]["stop_grace_period"]) > Settings().drain_seconds + 5
    assert {"container_name", "ports"} & set(services()["worker"]) == set(), "it could not be scaled"


def test_o7_only_pages_for_people_are_published_and_only_here() -> None:
    published = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert set(published) == {"temporal-ui", "prometheus", "grafana"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_o7_the_databases_have_no_way_out_and_a_worker_is_one_target() -> None:
    networks = {name: set(service["networks"]) for name, service in services().items()}
    assert set().union(*networks.values()) == set(compose()["networks"])
    internal = {name for name, network in compose()["networks"].items() if (network or {}).get("internal")}
    for name in ("postgres", "temporal", "temporal-schema"):
        assert networks[name] == internal
    assert len(networks["prometheus"] & networks["worker"]) == 1
    assert all(
        networks[name] - internal for name in ("worker", "cli", "temporal-ui", "prometheus", "grafana")
    )


def _bytes(limit: str) -> int:
    return int(limit[:-1]) << {"m": 20, "g": 30}[limit[-1]]


@pytest.mark.parametrize("name", NAMES)
def test_x1_no_service_takes_all_memory_of_the_machine(name: str) -> None:
    limit = interpolated(services()[name]["mem_limit"], {})
    assert _bytes(limit) <= 2 << 30
    if name == "worker":
        settings = Settings()
        parsing = max(settings.feed_processes, settings.article_processes) + settings.fic_processes
        assert _bytes(limit) >= (400 << 20) + parsing * MEMORY, "its parsing processes fit beside it"


@pytest.mark.parametrize("name", NAMES)
def test_o7_services_come_back_keep_their_logs_short_and_gain_no_rights(name: str) -> None:
    service = services()[name]
    assert service["restart"] in ("unless-stopped", "no")
    assert service["init"] is True
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}


@pytest.mark.parametrize("name", NAMES)
def test_o7_what_is_mounted_exists(name: str) -> None:
    for volume in services()[name].get("volumes", []):
        source, target, *mode = volume.split(":")
        assert target.startswith("/")
        if source.startswith("."):
            assert (ROOT / source).exists(), source
            assert mode == ["ro"], f"{source} is not the container's to change"
        else:
            assert source in compose()["volumes"]


@pytest.mark.parametrize("name", NAMES)
def test_o7_images_are_pinned(name: str) -> None:
    assert re.fullmatch(r"v?\d+\.\d+(\.\d+)?", image_of(name)[1])


def test_o7_versions_agree() -> None:
    assert image_of("temporal")[1] == image_of("temporal-schema")[1]
    assert tuple(map(int, image_of("temporal")[1].split("."))) >= (1, 29), "priorities and fairness"
    assert image_of("postgres")[1].split(".")[0] == str(POSTGRES_MAJOR), "what the tests run on"


def test_o7_temporal_behaves_as_the_embedded_one() -> None:
    path = next(v for v in services()["temporal"]["volumes"] if "dynamicconfig" in v).split(":")
    assert path[1] == services()["temporal"]["environment"]["DYNAMIC_CONFIG_FILE_PATH"]
    read = {key: [part["value"] for part in value] for key, value in yaml_file(path[0]).items()}
    assert read == {key: [json.loads(value)] for key, value in DYNAMIC_CONFIG.items()}


def test_o7_the_databases_that_are_made_are_those_that_are_used() -> None:
    made = text("deploy/postgres/init/10-databases.sh")
    server, tool = services()["temporal"]["environment"], services()["temporal-schema"]["environment"]
    for database in (server["DBNAME"], server["VISIBILITY_DBNAME"]):
        assert f"CREATE DATABASE {database} OWNER {server['POSTGRES_USER']};" in made
        assert re.search(rf"^bring_up {database} ", text("deploy/temporal/schema.sh"), re.MULTILINE)
    assert tool["SQL_USER"] == server["POSTGRES_USER"]
    assert server["POSTGRES_SEEDS"] == tool["SQL_HOST"] == "postgres"
    url = services()["worker"]["environment"]["DATABASE_URL"]
    assert url == "postgresql://fascicle@postgres:5432/fascicle"
    assert "CREATE DATABASE fascicle OWNER fascicle;" in made


@pytest.mark.parametrize("script", ["deploy/postgres/init/10-databases.sh", "deploy/temporal/schema.sh"])
def test_o7_the_scripts_can_be_read_by_a_shell(script: str) -> None:
    subprocess.run(["sh", "-n", ROOT / script], check=True)
    assert (ROOT / script).stat().st_mode & 0o111


def test_o7_prometheus_finds_every_worker_and_the_server() -> None:
    jobs = {job["job_name"]: job for job in yaml_file("deploy/prometheus/prometheus.yml")["scrape_configs"]}
    (found,) = jobs["fascicle"]["dns_sd_configs"]
    assert (found["names"], found["type"]) == (["worker"], "A")
    assert str(found["port"]) == image_environment()["FASCICLE_OPS_PORT"] == instructions("EXPOSE")[0]
    assert image_environment()["FASCICLE_OPS_HOST"] == "0.0.0.0"
    assert jobs["fascicle"].get("metrics_path", "/metrics") in ops_paths()
    (target,) = jobs["temporal"]["static_configs"][0]["targets"]
    assert target.split(":")[1] == services()["temporal"]["environment"]["PROMETHEUS_ENDPOINT"].split(":")[1]
    assert target.split(":")[0] in services()


def test_o7_grafana_finds_prometheus_and_its_dashboards() -> None:
    (source,) = yaml_file("deploy/grafana/provisioning/datasources/prometheus.yml")["datasources"]
    assert source["uid"] == "prometheus"
    assert source["url"] == "http://prometheus:9090"
    assert services()["prometheus"]["ports"][0].endswith(":9090")
    (provider,) = yaml_file("deploy/grafana/provisioning/dashboards/fascicle.yml")["providers"]
    mounts = dict(volume.split(":")[:2] for volume in services()["grafana"]["volumes"])
    assert mounts["./deploy/grafana/dashboards"] == provider["options"]["path"]
    assert "--config.file=/etc/prometheus/prometheus.yml" in services()["prometheus"]["command"]
    for dashboard in (ROOT / "deploy/grafana/dashboards").glob("*.json"):
        assert json.loads(dashboard.read_text())["title"]


def test_o7_a_shared_env_cannot_move_what_compose_relies_on() -> None:
    expected = {name: image_environment()[name] for name in PINNED}
    for service in ours().values():
        assert {name: service["environment"][name] for name in PINNED} == expected
        assert f"data:{expected['FASCICLE_DATA_DIR']}" in service["volumes"]


@pytest.mark.parametrize("page", ["docs/deployment.md", "docs/backup.md"])
def test_x1_what_the_pages_do_in_containers_names_services_databases_and_users_that_exist(page: str) -> None:
    lines = re.findall(r"docker compose exec (.*)", text(page))
    assert lines
    made = text("deploy/postgres/init/10-databases.sh")
    for line in lines:
        option, service, program, *words = shlex.split(re.split(r" [<>]|`", line)[0])
        assert (option, service) == ("-T", "postgres")
        assert program in ("pg_dump", "pg_restore", "psql", "dropdb")
        if "/dev/null" not in words:
            assert words[words.index("-U") + 1] == services()["postgres"]["environment"]["POSTGRES_USER"]
        for role in (word.removeprefix("--role=") for word in words if word.startswith("--role=")):
            assert f"CREATE DATABASE {words[words.index('-d') + 1]} OWNER {role};" in made


@pytest.mark.parametrize(
    "line", re.findall(r"docker compose run .*", text("docs/deployment.md") + text("docs/backup.md"))
)
def test_o5_the_commands_of_the_page_are_commands(line: str) -> None:
    words = shlex.split(line.split("`")[0].split(" # ")[0].rstrip("'"))
    place = next(place for place, word in enumerate(words) if word in services())
    if words[place] == "cli" and words[place + 1 :] and "--entrypoint" not in words:
        check_command(["fascicle", *words[place + 1 :]])


def test_o7_the_example_of_parted_workers_serves_every_queue() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", text("docs/deployment.md"), re.DOTALL)
    parted = yaml.safe_load(example)["services"]
    served = [queue for service in parted.values() for queue in service["command"][-1].split(",")]
    assert sorted(served) == sorted(TASK_QUEUES)
    for service in parted.values():
        check_command(service["command"])
