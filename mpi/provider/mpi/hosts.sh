#!/bin/sh
# Runs an MPI launcher for which two network namespaces are two machines, 10.77.0.1 and 10.77.0.2.
# Nothing of them is left when it ends. Needs root, and util-linux and iproute2.
#
#     two-hosts.sh mpiexec -n 4 ./program
set -eu
if [ "${TWO_HOSTS_INSIDE-}" != 1 ]; then
	TWO_HOSTS_INSIDE=1 exec unshare --net --uts sh "$0" "$@"
fi
folder=$(mktemp -d)
# Open MPI takes hosts of one name for one.
hostname two-hosts-1
unshare --net --uts sh -c 'hostname two-hosts-2; exec sleep 100000' &
other=$!
trap 'kill $other; rm -r "$folder"' EXIT
trap 'exit 143' TERM
# The other namespace is there once it is not this one.
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add here type veth peer name there netns $other
ip address add 10.77.0.1/24 dev here
ip link set lo up
ip link set here up
nsenter --target $other --net sh -c \
	'ip address add 10.77.0.2/24 dev there; ip link set lo up; ip link set there up'
# In the place of ssh: the host's name is its first argument.
cat > "$folder/agent" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
case \$1 in
10.77.0.2) shift; exec nsenter --target $other --net --uts sh -c "\$*" ;;
*) shift; exec sh -c "\$*" ;;
esac
END
chmod +x "$folder/agent"
# Ranks go to them in turn.
printf '10.77.0.1:1\n10.77.0.2:1\n' > "$folder/mpich"
printf '10.77.0.1 slots=1\n10.77.0.2 slots=1\n' > "$folder/openmpi"
export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$folder/agent" HYDRA_HOST_FILE="$folder/mpich"
export HYDRA_IFACE=here
export PRTE_MCA_plm_ssh_agent="$folder/agent" PRTE_MCA_prte_default_hostfile="$folder/openmpi"
export PRTE_MCA_rmaps_default_mapping_policy=node:oversubscribe
"$@"
