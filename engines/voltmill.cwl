# A run of a job over one observation as a CWL tool; engines/each.cwl runs it over many.
cwlVersion: v1.2
class: CommandLineTool
label: voltmill run
doc: Archived radio-telescope voltages to spectra or power, as the job states.
baseCommand: [voltmill, run]
requirements:
  InlineJavascriptRequirement: {}
hints:
  ResourceRequirement: {coresMin: 2, ramMin: 2048}
  SoftwareRequirement:
    packages:
      voltmill: {version: ["1.0.0"]}
  NetworkAccess: {networkAccess: false}
inputs:
  observation:
    type: File
    doc: The archive; the other files of a sequence are its secondaryFiles.
    inputBinding: {prefix: "--set", valueFrom: $("input.files=" + self.path)}
  product:
    type: string
    default: product.h5
    inputBinding: {prefix: "--set", valueFrom: $("products.0.file=" + self)}
  job:
    type: File
    inputBinding: {position: 1}
outputs:
  result:
    type: File
    format: http://edamontology.org/format_3590
    outputBinding: {glob: $(inputs.product)}
stdout: voltmill.log
successCodes: [0]
# Stopped, and I/O or device errors: worth another try. All others need another job.
temporaryFailCodes: [3, 4, 5, 75]
