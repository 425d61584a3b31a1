// One job over many observations, as a module of Nextflow (DSL 2):
//
//   nextflow run engines/main.nf --job job.yaml --observations 'obs/*.h5'
//
// or, in a workflow of yours: include { VOLTMILL_RUN } from './engines/main.nf'
// A try begins in a directory of its own; within it, a run that was stopped (status 75) resumes.

process VOLTMILL_RUN {
    tag "${meta.id}"
    label 'process_medium'
    container 'voltmill'
    errorStrategy { task.attempt <= 3 && task.exitStatus in [3, 4, 5, 75, 137, 143] ? 'retry' : 'finish' }
    maxRetries 3

    input:
    tuple val(meta), path(observation)
    path job

    output:
    tuple val(meta), path("${meta.id}.h5"), emit: product
    path 'versions.yml', emit: versions

    script:
    def mpirun = meta.ranks ? "mpirun -n ${meta.ranks}" : ''
    """
    export OMP_NUM_THREADS=${task.cpus}
    status=75
    for attempt in 1 2 3; do
        [ \$status = 75 ] || break
        status=0
        ${mpirun} voltmill run --set input.files=${observation} --set products.0.file=${meta.id}.h5 ${job} || status=\$?
    done
    [ \$status = 0 ] || exit \$status
    printf '"%s":\\n    voltmill: %s\\n' '${task.process}' "\$(voltmill --version | sed -n '1s/voltmill //p')" >versions.yml
    """

    stub:
    """
    touch ${meta.id}.h5 versions.yml
    """
}

workflow {
    observations = channel.fromPath(params.observations).map { obs -> [[id: obs.simpleName], obs] }
    VOLTMILL_RUN(observations, file(params.job))
}
