// The functions that typed SQL may call: those that compute from their arguments and reach nothing else. Not in it, on
// purpose: everything that reads a table, file, dictionary, address or setting (dictGet…, joinGet, file, url, hostName,
// currentDatabase, getSetting, …), waits (sleep), or runs something else. What is missing can be added; what is here
// must be safe in every version from 18.16 on.
#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "store/clickhouse/sql_guard.h"

namespace wf::store::clickhouse {
namespace {

constexpr std::string_view kFunctions =
    // arithmetic and comparison
    "plus minus multiply divide intdiv intdivorzero modulo negate abs gcd lcm equals notequals "
    "less greater "
    "lessorequals greaterorequals and or not xor if multiif least greatest exp log ln exp2 log2 "
    "exp10 log10 sqrt cbrt "
    "erf erfc lgamma tgamma sin cos tan asin acos atan pow power pi e floor ceil ceiling round "
    "trunc truncate sign "
    "bitand bitor bitxor bitnot bitshiftleft bitshiftright bittest isfinite isinfinite isnan "
    // nulls
    "isnull isnotnull coalesce ifnull nullif assumenotnull tonullable "
    // conversions
    "toint8 toint16 toint32 toint64 touint8 touint16 touint32 touint64 tofloat32 tofloat64 "
    "tostring tofixedstring "
    "todate todatetime todatetime64 cast totypename toint64ornull tofloat64ornull touint64ornull "
    "toint64orzero "
    "tofloat64orzero touint64orzero reinterpretasint64 reinterpretasuint64 reinterpretasfloat64 "
    "todecimal32 "
    "todecimal64 todecimal128 "
    // types in a CAST
    "nullable decimal fixedstring datetime datetime64 lowcardinality "
    // time
    "now today yesterday toyear tomonth todayofmonth todayofweek tohour tominute tosecond "
    "tostartofyear "
    "tostartofmonth tostartofweek tomonday tostartofday tostartofhour tostartofminute "
    "tostartoffiveminute "
    "tostartoffifteenminutes tostartofinterval tounixtimestamp formatdatetime tointervalsecond "
    "tointervalminute "
    "tointervalhour tointervalday datediff dateadd date_trunc addseconds addminutes addhours "
    "adddays subtractseconds "
    "subtractminutes subtracthours subtractdays fromunixtimestamp64nano tounixtimestamp64nano "
    "toyyyymm toyyyymmdd "
    // texts
    "length lengthutf8 empty notempty lower upper lowerutf8 upperutf8 reverse concat substring "
    "substr mid left right "
    "trim ltrim rtrim trimleft trimright trimboth position positioncaseinsensitive locate match "
    "like notlike ilike "
    "extract extractall replaceone replaceall replaceregexpone replaceregexpall replace "
    "splitbychar splitbystring "
    "arraystringconcat startswith endswith hex unhex countsubstrings leftpad rightpad lpad rpad "
    "repeat toascii ascii "
    "char base64encode base64decode format "
    // hashes
    "cityhash64 siphash64 xxhash64 xxhash32 farmhash64 metrohash64 inthash32 inthash64 md5 sha1 "
    "sha256 crc32 "
    // tuples, arrays, maps
    "tuple tupleelement array arrayelement has hasall hasany indexof countequal arrayjoin "
    "arrayconcat arraycount "
    "arraydistinct arrayenumerate arrayexists arrayall arrayfilter arraymap arraysum arraymin "
    "arraymax arrayavg "
    "arraysort arrayreversesort arrayreverse arrayslice arrayuniq arrayfirst arrayfirstindex "
    "arraycumsum "
    "arraydifference arraypushback arraypushfront arraypopback arraypopfront arrayresize "
    "arrayflatten arrayreduce "
    "range map mapkeys mapvalues transform "
    // JSON in texts
    "visitparamextractstring visitparamextractint visitparamextractfloat visitparamextractbool "
    "visitparamhas "
    "jsonextractstring jsonextractint jsonextractfloat jsonextractbool jsonhas jsonlength "
    // aggregates
    "count sum sumwithoverflow summap min max avg any anylast anyheavy argmin argmax uniq "
    "uniqexact uniqcombined "
    "uniqhll12 grouparray groupuniqarray quantile quantiles quantileexact quantilesexact "
    "quantileexactweighted "
    "quantilesexactweighted quantiletdigest quantilestdigest quantiletiming quantilestiming "
    "quantiledeterministic "
    "median medianexact varsamp varpop stddevsamp stddevpop covarsamp covarpop corr skewsamp "
    "skewpop kurtsamp kurtpop "
    "topk groupbitand groupbitor groupbitxor simplelinearregression entropy first_value last_value "
    // windows
    "row_number rank dense_rank percent_rank ntile lag lead laginframe leadinframe nth_value "
    "neighbor runningdifference runningaccumulate rownumberinallblocks rownumberinblock "
    // grouping
    "grouping rollup cube";

const std::set<std::string, std::less<>>& Functions() {
  static const std::set<std::string, std::less<>> functions = [] {
    std::set<std::string, std::less<>> out;
    for (size_t at = 0; at < kFunctions.size();) {
      const size_t end = std::min(kFunctions.find(' ', at), kFunctions.size());
      if (end != at) out.emplace(kFunctions.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }();
  return functions;
}

}  // namespace

bool IsHarmlessFunction(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (Functions().count(lower) != 0) return true;
  // Aggregates with a combinator: sumIf, quantileExactIf, countIf.
  for (const std::string_view end : {"if", "ornull", "ordefault", "distinct"}) {
    if (lower.size() > end.size() &&
        lower.compare(lower.size() - end.size(), end.size(), end) == 0 &&
        Functions().count(lower.substr(0, lower.size() - end.size())) != 0)
      return true;
  }
  return false;
}

}  // namespace wf::store::clickhouse
