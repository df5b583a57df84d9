#!/bin/sh
# Rights of tables and subscribers in RabbitMQ: ./permissions.sh table zg1 t07 | ./permissions.sh subscriber NAME STREAM...
# ./permissions.sh screen NAME STREAM... is for one that only reads: whoever may write requests can use up another's allowance.
# A topic felt/v1/zg1/t07/play/# is the routing key felt.v1.zg1.t07.play.# here. RabbitMQ hangs up on who writes what it
# may not; over MQTT 3.1.1 it cannot say why, and a table withholds such an event after some attempts.
set -eu
ctl=${RABBITMQCTL:-rabbitmqctl}
what=$1; shift
case $what in
table)
    site=$1; table=$2; user="$site-$table"; at="felt\\.v1\\.$site\\.$table"
    "$ctl" add_user "$user" "$(head -c 24 /dev/urandom | base64)" 2>/dev/null || true
    # The queues behind subscriptions are called mqtt-subscription-<client>qos<n>; a table has its own and no other.
    own="^mqtt-subscription-felt-$site-$table.*"
    "$ctl" set_permissions "$user" "$own" "$own|^amq\\.topic\$" "$own|^amq\\.topic\$"
    "$ctl" set_topic_permissions "$user" amq.topic \
        "^$at\\.((play|cash|ops|guard|reply)\\..*|description|state|snapshot)\$" "^$at\\.(cmd\\..*|state)\$"
    ;;
subscriber|screen)
    user=$1; shift
    streams=$(echo "$*" | tr ' ' '|')
    # The snapshot tells what play has told: it is for who may read that.
    case " $* " in *" play "*) more="|snapshot" ;; *) more="" ;; esac
    "$ctl" add_user "$user" "$(head -c 24 /dev/urandom | base64)" 2>/dev/null || true
    own="^mqtt-subscription-$user.*"
    asks="^felt\\.v1\\.[a-z0-9-]+\\.[a-z0-9-]+\\.cmd\\.(replay|rebirth)\$"
    [ "$what" = subscriber ] || asks="^\$"
    "$ctl" set_permissions "$user" "$own" "$own|^amq\\.topic\$" "$own|^amq\\.topic\$"
    "$ctl" set_topic_permissions "$user" amq.topic \
        "$asks" \
        "^felt\\.v1\\.[a-z0-9-]+\\.[a-z0-9-]+\\.(($streams)\\..*|state|description$more|reply\\.$user\\..*)\$"
    ;;
*)
    echo "table SITE TABLE | subscriber NAME STREAM... | screen NAME STREAM..." >&2
    exit 2
    ;;
esac
