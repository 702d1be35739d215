#!/bin/sh
# How a node of a private Galera cluster gets the state of another (wsrep_sst_method): it has it already, a copy of the first
# node's files, and takes what came since from the donor's cache. Only the position is handed over, through a pipe beside the data.
role= address= data= position= is_incremental=
while [ $# -gt 0 ]; do
    case $1 in
        --role) role=$2; shift ;;
        --address) address=$2; shift ;;
        --datadir) data=$2; shift ;;
        --gtid) position=$2; shift ;;
        --bypass) is_incremental=1 ;;
    esac
    shift
done
if [ "$role" = joiner ]; then
    pipe=${data%/}/transfer.pipe
    rm -f "$pipe"
    mkfifo -m 600 "$pipe" || exit 1
    echo "ready $pipe"
    read -r position <"$pipe"
    rm -f "$pipe"
    echo "$position"
elif [ "$is_incremental" ]; then
    # The joiner names the pipe that it made: to nothing else is written.
    case $address in
        */data/transfer.pipe) [ -p "$address" ] && [ ! -h "$address" ] || exit 1 ;;
        *) exit 1 ;;
    esac
    echo "$position" >"$address"
    echo "done $position"
else
    echo "a node of a private cluster that lost its state cannot get it back" >&2
    exit 1
fi
