#include "govdata/live/source.h"

namespace turnpike::govdata {

Step commit_page(StepContext& context, const SourceSettings& source, const Page& page,
                 StepKind next) {
  const Applied applied =
      apply_page(context.database, context.source_id, source, page, context.now_ms);
  if (!applied.problem.empty()) return failed_step(applied.problem);
  context.host.report().count("poll_records", static_cast<std::uint64_t>(applied.records));
  return {next, 0, {}};
}

}  // namespace turnpike::govdata
