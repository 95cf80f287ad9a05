#include "doctor/ucx_view.h"

#include <ucp/api/ucp.h>
#include <ucs/memory/memory_type.h>
#include <uct/api/uct.h>

#include <memory>
#include <span>

#include "common/net/ucx/process_setup.h"
#include "common/net/ucx/version.h"

namespace weir::doctor {
namespace {

struct CloseDomain {
  void operator()(uct_md_h domain) const { uct_md_close(domain); }
};
using DomainPtr = std::unique_ptr<uct_md, CloseDomain>;

DomainPtr Open(uct_component_h component, const char* name) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return nullptr;
  uct_md_h domain = nullptr;
  const ucs_status_t status = uct_md_open(component, name, config, &domain);
  uct_config_release(config);
  return DomainPtr(status == UCS_OK ? domain : nullptr);
}

void AppendResources(uct_md_h domain, std::vector<UcxResource>& resources) {
  uct_tl_resource_desc_t* found = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &found, &count) != UCS_OK) return;
  for (const uct_tl_resource_desc_t& one : std::span(found, count)) {
    resources.push_back({.transport = one.tl_name,
                         .device = one.dev_name,
                         .network = one.dev_type == UCT_DEVICE_TYPE_NET});
  }
  uct_release_tl_resource_list(found);
}

std::vector<uct_md_resource_desc_t> DomainsOf(uct_component_h component) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK) return {};
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (domains.empty() || uct_component_query(component, &attributes) != UCS_OK) return {};
  return domains;
}

std::vector<UcxResource> Resources() {
  std::vector<UcxResource> resources;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return resources;
  for (const uct_component_h component : std::span(components, count)) {
    for (const uct_md_resource_desc_t& domain : DomainsOf(component)) {
      const DomainPtr open = Open(component, domain.md_name);
      if (open != nullptr) AppendResources(open.get(), resources);
    }
  }
  uct_release_component_list(components);
  return resources;
}

// In the order of UCX's own numbers, of which a newer library may have more than its headers here.
std::vector<std::string> TypesIn(std::uint64_t mask) {
  std::vector<std::string> names;
  for (int type = 0; type < UCS_MEMORY_TYPE_LAST; ++type) {
    if ((mask >> type & 1U) != 0) names.emplace_back(ucs_memory_type_names[type]);
  }
  return names;
}

void LookAtMemoryTypes(UcxView& view) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;
  params.name = "weir doctor";
  ucp_context_h context = nullptr;
  if (const ucs_status_t status = ucp_init(&params, nullptr, &context); status != UCS_OK) {
    view.problem = ucs_status_string(status);
    return;
  }
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (const ucs_status_t status = ucp_context_query(context, &attributes); status == UCS_OK) {
    view.memory_types = TypesIn(attributes.memory_types);
  } else {
    view.problem = ucs_status_string(status);
  }
  ucp_cleanup(context);
}

}  // namespace

UcxView LookAtUcx() {
  net::SetUpUcxInProcess();
  UcxView view{.version = net::UcxVersion(), .resources = Resources()};
  LookAtMemoryTypes(view);
  return view;
}

}  // namespace weir::doctor
