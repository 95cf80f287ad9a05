# Configures one build folder; sourced by the scripts.

# configure FOLDER [MESON OPTION...]: sets it up the first time; later runs keep what is there.
configure() {
  local folder=$1
  shift
  [ ! -e "$folder/build.ninja" ] || return 0
  mkdir -p build
  rm -rf "$folder"
  meson setup "$folder" "$@" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; return 1; }
}
