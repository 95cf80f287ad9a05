#pragma once

#include "common/config/flag_table.h"
#include "common/config/options.h"

namespace weir {

/// The whole tables of `weir run` and `weir local`, over the fields of `arguments`, which must
/// outlive them.
FlagTable RunFlags(RunArguments& arguments);
FlagTable LocalFlags(LocalArguments& arguments);

}  // namespace weir
