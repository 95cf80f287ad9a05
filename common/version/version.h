#pragma once

namespace weir {

/// Of this build, for people, reports and checkpoints. Never null; good as long as the process.
const char* BuildVersion();  ///< "0.1.0"
/// The commit it was made from, 12 hex digits, with "-dirty" where files that git follows had been
/// changed since; "unknown" outside a git checkout.
const char* BuildCommit();
const char* BuildType();  ///< Meson's buildtype: "release"

}  // namespace weir
