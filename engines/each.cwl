# One job over many observations: cwltool --cachedir cache --on-error continue engines/each.cwl observations.yaml
# The same command again runs only those that failed.
cwlVersion: v1.2
class: Workflow
requirements:
  ScatterFeatureRequirement: {}
  StepInputExpressionRequirement: {}
  InlineJavascriptRequirement: {}
inputs:
  job: File
  observations: File[]
outputs:
  products: {type: "File[]", outputSource: run/result}
steps:
  run:
    run: voltmill.cwl
    scatter: observation
    in:
      job: job
      observation: observations
      product: {valueFrom: $(inputs.observation.nameroot).h5}
    out: [result]
