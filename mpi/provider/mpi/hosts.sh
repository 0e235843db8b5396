#!/bin/sh
# Runs an MPI launcher for which network namespaces are machines: HOSTS of them, by default 2, with
# the addresses 10.77.0.1, 10.77.0.2 and so on. Nothing of them is left when it ends. Needs root,
# util-linux and iproute2.
#
#     HOSTS=3 hosts.sh mpiexec -n 64 ./program
set -eu
if [ "${HOSTS_INSIDE-}" != 1 ]; then
	HOSTS_INSIDE=1 exec unshare --net --uts sh "$0" "$@"
fi
folder=$(mktemp -d)
others=
trap 'kill $others 2>/dev/null || :; rm -r "$folder"' EXIT
trap 'exit 143' TERM
# Open MPI takes hosts of one name for one.
hostname host-1
# All machines are on one switch.
ip link add switch type bridge
ip address add 10.77.0.1/24 dev switch
ip link set lo up
ip link set switch up
# In the place of ssh: the host's name is its first argument.
cat > "$folder/agent" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
case \$1 in
END
for host in $(seq "${HOSTS:-2}"); do
	# Ranks go to them in turn.
	echo "10.77.0.$host:1" >> "$folder/mpich"
	echo "10.77.0.$host slots=1" >> "$folder/openmpi"
	[ "$host" = 1 ] && continue
	unshare --net --uts sh -c "hostname host-$host; exec sleep 100000" &
	other=$!
	others="$others $other"
	# The other namespace is there once it is not this one.
	while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
	ip link add "port-$host" master switch type veth peer name there netns $other
	ip link set "port-$host" up
	nsenter --target $other --net sh -c \
		"ip address add 10.77.0.$host/24 dev there; ip link set lo up; ip link set there up"
	echo "10.77.0.$host) shift; exec nsenter --target $other --net --uts sh -c \"\$*\" ;;" \
		>> "$folder/agent"
done
cat >> "$folder/agent" <<END
*) shift; exec sh -c "\$*" ;;
esac
END
chmod +x "$folder/agent"
export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$folder/agent" HYDRA_HOST_FILE="$folder/mpich"
export HYDRA_IFACE=switch
export PRTE_MCA_plm_ssh_agent="$folder/agent" PRTE_MCA_prte_default_hostfile="$folder/openmpi"
export PRTE_MCA_rmaps_default_mapping_policy=node:oversubscribe
"$@"
