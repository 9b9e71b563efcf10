#!/bin/bash
# Tries the Dockerfile and docker-compose.yml on a real container engine, in a project of its own, and removes all of it
# but the image and the build cache. Needs docker, docker compose and curl.
set -euo pipefail
cd "$(dirname "$0")/.."

export COMPOSE_PROJECT_NAME=plant-store-try-$$
# Nothing of the caller's configuration, and any free port: it changes whenever the container starts.
unset ${!DATABASE_@} ${!MIGRATION_@} ${!ACCESS_TOKENS@} ${!JWT_@}
unset NODE_IMAGE POSTGRES_IMAGE HAPROXY_IMAGE HOST BASE_PATH ERROR_STATUS
export COMPOSE_ENV_FILES=/dev/null PORT=0
folder=$(mktemp -d)

clean_up() {
  local status=$?
  [ $status = 0 ] || docker compose logs --tail 20
  docker compose down --volumes --timeout 5 >/dev/null 2>&1
  rm -rf "$folder"
}
trap clean_up EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
is() { # what, actual, expected
  [ "$2" = "$3" ] || fail "$1: is '$2', should be '$3'"
  echo "ok: $1"
}
quietly() { "$@" >"$folder/output" 2>&1 || { cat "$folder/output" >&2; fail "$*"; }; }
up() { quietly docker compose up --detach --wait "$@"; }
front=api
url() { echo "http://$(docker compose port $front 3000)${1-}"; }
in_api() { docker compose exec -T api "$@"; }
as() { docker compose exec -T db psql -U "$1" -d plants -v ON_ERROR_STOP=1 -Atc "$2"; } # role, SQL
new_token() { in_api plant-store token create "$1" 2>/dev/null; }
# Prints "<status> <error number, if any>".
create_with() { # token, plant's id
  curl --silent --output "$folder/answer" --write-out '%{http_code}' "$(url /plants)" \
    --header "Authorization: Bearer $1" --header 'Content-Type: application/json' \
    --data "{\"id\":$2,\"name\":\"Rose\"}" || true
  sed -nE 's/.*"error":([0-9]+).*/ \1/p' "$folder/answer"
}
create() { create_with "$token" "$1"; }
eventually() { # what, expected, command
  local what=$1 expected=$2 actual
  shift 2
  for _ in $(seq 120); do
    actual=$("$@") && [ "$actual" = "$expected" ] && echo "ok: $what" && return
    sleep 0.5
  done
  fail "$what: is '${actual-}', should be '$expected'"
}
health() {
  docker inspect --format '{{.State.Health.Status}} {{.RestartCount}}' "$(docker compose ps --all --quiet "$1")"
}

echo '== image and first start'
quietly docker compose build
size() { docker image inspect --format '{{.Size}}' "$1"; }
over=$((($(size plant-store) - $(size node:24-bookworm-slim)) / 1000000))
[ $over -le 130 ] || fail "the image is $over MB larger than its base"
up
is 'without a token it is ready' "$(health api)" 'healthy 0'
is 'and refuses plants' "$(create_with nobody-has-made-this-one 1)" '400 40101'
advice='plant-store token create NAME'
is 'and its log says how to create a token' "$(docker compose logs api | grep -c "$advice")" 1
token=$(new_token try)
is 'a plant is created' "$(create 1)" 200
is 'not twice' "$(create 1)" '400 40901'
is 'the service is user 1000' "$(in_api id -u)" 1000
is 'it has no capability' "$(in_api grep CapEff /proc/1/status | tr -d '[:space:]')" CapEff:0000000000000000
write='for f in / /app /tmp /home/node /run/plant-store; do touch $f/x 2>/dev/null && echo $f; done; :'
is 'its file system is read-only' "$(in_api sh -c "$write")" ''
is 'it cannot read the password of the owner' "$(in_api ls -A /run/plant-store-owner)" ''
for sql in 'DELETE FROM plants' 'UPDATE plants SET tag = NULL' 'DROP TABLE plants' 'CREATE TABLE leaves ()'; do
  if as plants "$sql" 2>"$folder/stderr"; then fail "the service may $sql"; fi
done
is 'it is published on this machine only' "$(url | sed -E 's/:[0-9]+$//')" http://127.0.0.1
quietly in_api plant-store token revoke try
sleep 2
is 'a revoked token is refused within 2 s' "$(create 1)" '400 40101'
token=$(new_token again)

echo '== restarts and crashes'
quietly docker compose down
up
is 'plant and token are there after down and up' "$(create 1)" '400 40901'
in_api sh -c 'kill -9 -1' || true
eventually 'the service comes back when it is killed' 'healthy 1' health api
docker compose exec -T db sh -c 'kill -9 -1' || true
eventually 'the database comes back when it is killed' 'healthy 1' health db
eventually 'the service recovers by itself' '400 40901' create 1
quietly docker compose stop db
is 'without a database a plant is refused, with a promise' "$(create 2)" '400 50300'
eventually 'and the container is unhealthy' 'unhealthy 1' health api
quietly docker compose start db
eventually 'the service recovers when the database is back' 'healthy 1' health api
is 'nothing was written' "$(create 2)" 200

echo '== configuration'
if ERROR_STATUS=wrong docker compose up --detach --wait >/dev/null 2>&1; then fail 'a bad value is accepted'; fi
is 'a bad value ends up at once' "$(docker compose logs migrate | grep -c 'ERROR_STATUS must be one of')" 1
echo 'my-own-token-my-own-token' >"$folder/token"
chmod a+rX "$folder" "$folder/token"
ACCESS_TOKENS_FILE=$folder/token up --force-recreate
is 'a static token of your own is accepted' "$(create_with my-own-token-my-own-token 1)" '400 40901'
up
is 'until it is taken out' "$(create_with my-own-token-my-own-token 1)" '400 40101'

echo '== back up and restore'
docker compose exec -T db pg_dump -U postgres -Fc plants >"$folder/plants.dump"
quietly docker compose down --volumes
up
quietly docker compose stop api
quietly docker compose exec -T db createdb -U postgres -O plants_owner restored
docker compose exec -T db pg_restore -U plants_owner -d restored --no-owner --no-privileges --exit-on-error \
  <"$folder/plants.dump"
quietly docker compose exec -T db psql -U postgres -v ON_ERROR_STOP=1 \
  -c 'ALTER DATABASE plants RENAME TO replaced' -c 'ALTER DATABASE restored RENAME TO plants'
up
is 'the restored plants are there, and so is the token' "$(create 1)" '400 40901'
is 'and new ones are created' "$(create 3)" 200

echo '== several instances'
export COMPOSE_FILE=docker-compose.yml:docker-compose.scale.yml
front=haproxy
up --scale api=3
for id in 4 5 6 7 8 9; do is "plant $id is created through HAProxy" "$(create $id)" 200; done
is 'nothing answers /readyz there' "$(curl --silent "$(url /readyz)" | grep -c '"error":40')" 1
quietly docker compose stop api
is 'without an instance nothing is written, in the form of the service' "$(create 10)" '400 50300'
echo 'all is well'
