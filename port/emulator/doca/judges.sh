#!/bin/sh
# Builds and runs NVIDIA's samples of DOCA DPA (BSD-3, tag 3.3.0 of NVIDIA-DOCA/doca-samples), which
# are not part of this repository, unmodified.
#   judges.sh PREFIX SAMPLES [NAME]...    SAMPLES is the folder `samples` of a checkout
# PREFIX is an installed emulator. Without names all run. dpa_nvqual, whose 190 threads take a minute
# or more, runs only by name. dpa_all_to_all needs an MPI's mpicc and mpiexec. Programs that are not
# NVIDIA's run from a checkout of Tonny-Gu/dpa-bench that BENCH names. DPACC_CHECK=0 leaves out the
# checks of accesses.
set -eu
[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prefix=$(CDPATH= cd -- "$1" && pwd) samples=$(CDPATH= cd -- "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- dpa_kernel_launch dpa_basic_initiator_target dpa_initiator_target \
    dpa_ping_pong dpa_verbs_initiator_target verbs_send_ethernet_frames_on_dpa \
    verbs_receive_packets_on_dpa dpa_all_to_all ${BENCH:+timer thread_comm p2p_rtt qp_post}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
failed=0

# Programs of dpa-bench. Two of them have a server and a client, one of which has a device part.
build_bench() {
    place=$BENCH/$1 app=dpa_$1_app part=$1_dev.c
    case $1 in
        timer) part=wait_one_second_dev.c ;;
        p2p_rtt) place=$place/doca app=dpa_sample_app part=server_kernels_dev.c ;;
        qp_post) app=dpa_sample_app part=client_dev.c ;;
    esac
    "$prefix/bin/dpacc" "$place/$part" -o "$work/$1.a" -hostcc=cc -mcpu=nv-dpa-bf3 \
        --app-name="$app" --devicecc-options="-Wall,-Wextra,-O2" \
        -device-libs="-L$prefix/lib -ldoca_dpa_dev -ldoca_dpa_dev_comm"
    for host in main server client; do
        [ -f "$place/$host.c" ] || continue
        set -- "$1" "$place/$host.c"
        case $host in main) ;; *) set -- "$1-$host" "$place/$host.c" "$place/common.c" ;; esac
        made=$1
        shift
        "${CC:-cc}" -g -DDOCA_ALLOW_EXPERIMENTAL_API "$@" "$work/${made%-*}.a" \
            -I "$prefix/include" -L "$prefix/lib" "-Wl,-rpath,$prefix/lib" -ldoca_dpa -ldoca_rdma \
            -ldoca_common -lflexio -o "$work/$made"
        set -- "${made%-*}"
    done
}

build() {
    case $1 in
        timer | thread_comm | p2p_rtt | qp_post) build_bench "$1"; return ;;
        verbs_*) app=verbs_sample_app folder=$samples/doca_verbs common=$samples/common.c ;;
        dpa_nvqual) app=dpa_sample_app folder=$samples/doca_dpa common= ;;
        dpa_all_to_all)
            app=dpa_all2all_app folder=$samples/../applications
            common="-I $folder/common $(mpicc -show | tr ' ' '\n' | grep '^-')"
            common="$common $(echo "$common" | sed -n 's/^-L/-Wl,-rpath,/p')" ;;
        *) app=dpa_sample_app folder=$samples/doca_dpa common=$samples/doca_dpa/dpa_common.c ;;
    esac
    place=$folder/$1
    mains=$(find "$place" -maxdepth 1 -name '*_main.c')
    # Tags before 3.3.0 have no attributes.
    attributes=
    for yaml in "$place"/device/*_attributes.yaml; do
        [ ! -f "$yaml" ] || attributes=--dpa-proc-attr=$work/$1.blob
        [ ! -f "$yaml" ] || "$prefix/bin/dpa-app-attributes2blob" "$yaml" "$work/$1.blob"
    done
    "$prefix/bin/dpacc" "$place"/device/*_dev.c -o "$work/$1.a" -hostcc=cc \
        -mcpu=nv-dpa-bf3,nv-dpa-cx7 --app-name="$app" ${attributes:+"$attributes"} \
        --devicecc-options="-Wno-deprecated-declarations,-Werror,-Wall,-Wextra,-O2" \
        -device-libs="-L$prefix/lib -ldoca_dpa_dev -ldoca_dpa_dev_comm -ldoca_dpa_dev_verbs"
    # shellcheck disable=SC2086
    "${CC:-cc}" -g -DDOCA_ALLOW_EXPERIMENTAL_API $mains "$place"/host/*.c $common \
        "$work/$1.a" -I "$folder" -I "$place/common" -I "$samples" -I "$prefix/include" \
        -idirafter "$prefix/include/fallback" -L "$prefix/lib" "-Wl,-rpath,$prefix/lib" \
        -ldoca_dpa -ldoca_rdma -ldoca_argp -ldoca_common -ldoca_verbs -ldoca_flow -lflexio \
        -libverbs -lmlx5 -lpthread -lm -o "$work/$1"
}

# Two programs: the target listens, and then the initiator connects to it.
run_pair() {
    "$@" > "$1.target" 2>&1 &
    target=$!
    until grep -q 'listening' "$1.target" || ! kill -0 $target 2> /dev/null; do sleep 0.1; done
    initiator=0
    "$@" --initiator 127.0.0.1 || initiator=$?
    wait $target || initiator=$?
    cat "$1.target"
    return $initiator
}

# Waits until a program has said that it listens, or has ended.
listens() { until grep -q 'Waiting for client' "$1" || ! kill -0 "$2" 2> /dev/null; do sleep 0.1; done; }

# A server, whose data path is on the CPU and then on the DPA, answers 100 messages.
run_round_trips() {
    device=${DPA_DEVICE:-mlx5_0} result=0
    for mode in host dpa; do
        "$1-server" --mode $mode --device "$device" > "$1.server" 2>&1 &
        server=$!
        listens "$1.server" $server
        "$1-client" --device "$device" --iters 100 --interval-us 0 127.0.0.1 > "$1.client" || result=$?
        grep -c '^seq=' "$1.client" | sed "s/^/round trips with a server on the $mode: /"
        kill -INT $server
        # On the DPA it stops its thread before what wakes it, which is refused.
        wait $server || [ $mode = dpa ] || result=$?
        sed 1,2d "$1.server"
    done
    return $result
}

# Four programs print what each sent and received: part r of program s is part s of program r.
run_all_to_all() {
    mpiexec -n 4 "$@" > "$1.out" || return
    awk '/send buffs/ { at = "send" } /recv buffs/ { at = "recv" }
        /^Rank/ { sub(/^Rank [0-9]* *\|/, ""); sub(/ *\|? *$/, ""); rank = ranks[at]++
            count = split($0, row, / +/)
            for (i = 1; i <= count; i++) got[at, rank, i - 1] = row[i] }
        END { part = count / 4
            for (to = 0; to < 4; to++) for (from = 0; from < 4; from++) for (i = 0; i < part; i++)
                right += got["recv", to, from * part + i] == got["send", from, to * part + i]
            print right " of " 4 * count " numbers are at their place"
            exit !count || right != 4 * count }' "$1.out"
}

# A client, whose data path is on the CPU and then on the DPA, writes to two servers for a second.
run_posts() {
    device=${DPA_DEVICE:-mlx5_0} result=0
    for mode in host dpa; do
        servers=
        for port in 18645 18646; do
            "$1-server" --device "$device" --port $port > "$1.$port" 2>&1 &
            servers="$servers $!"
            listens "$1.$port" $!
        done
        "$1-client" --mode $mode --device "$device" --server-a-ip 127.0.0.1 --server-b-ip 127.0.0.1 \
            --server-a-port 18645 --server-b-port 18646 --duration 1 || result=$?
        # shellcheck disable=SC2086
        kill -INT $servers
        for server in $servers; do wait "$server" || result=$?; done
        sed 1,2d "$1.18645" "$1.18646"
    done
    return $result
}

for name; do
    if [ "$name" = dpa_all_to_all ] && ! command -v mpicc > /dev/null; then
        echo "== $name: not run: no mpicc"
        continue
    fi
    build "$name"
    wire=loop options= run=
    case $name in
        dpa_verbs_initiator_target)
            wire=link:path=$work/link run=run_pair options="--device ${DPA_DEVICE:-mlx5_0}" ;;
        dpa_all_to_all) wire=link:path=$work/link run=run_all_to_all options="--msgsize 4096" ;;
        p2p_rtt) wire=link:path=$work/link run=run_round_trips ;;
        qp_post) wire=link:path=$work/link run=run_posts ;;
        timer | thread_comm) options="--device ${DPA_DEVICE:-mlx5_0}" ;;
        verbs_send*) wire=pcap:out=$work/frames.pcap ;;
        verbs_receive*) wire=pcap:in=$work/frames.pcap ;;
        dpa_nvqual) options="--pf-device ${DPA_DEVICE:-mlx5_0} --test-duration-sec 1 --user-factor 0.009" ;;
    esac
    echo "== $name"
    # shellcheck disable=SC2086
    export DPA_WIRE="$wire"
    if $run "$work/$name" $options; then
        echo "== $name: right"
    else
        echo "== $name: exit code $?"
        failed=1
    fi
done
exit $failed
