# docs/guides/cluster.md on a real SLURM of two nodes, as an ordinary user: the bytes of the desk, an array and what
# follows it.
. "$(dirname "${BASH_SOURCE[0]}")/guide.bash"
if [ -z "${VOLTMILL_CLUSTER:-}" ]; then
    reason=$("$here/tests/slurm/cluster" check) || { echo "1..0 # SKIP $reason"; exit 0; }
    clean
    exec "$here/tests/slurm/cluster" 2 2 0 bash "${BASH_SOURCE[0]}"
fi

# The checkout may lie where only root can look.
home=$VOLTMILL_CLUSTER/home
mkdir "$home/path"
cp -L "$voltmill" "$home/path/voltmill"
cp -rL "$here/slurm" "$here/data" "$home"
chown -R --reference="$home" "$home"
tree=$home
export PATH=$home/path:$PATH VOLTMILL_CACHE=$home/cache
# Nodes reach each other through the loopback, of which MPI makes no use by itself.
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo
follow cluster "$VOLTMILL_CLUSTER_USER"
plan
