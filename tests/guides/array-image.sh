# docs/guides/array-image.md: voltages of an array become visibilities and an image, sources at their places.
. "$(dirname "$0")/guide.bash"
follow array-image
plan
