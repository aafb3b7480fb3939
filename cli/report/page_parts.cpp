// No script and no network: a page can be opened anywhere.
#include "cli/report/page_parts.h"

#include <cstdio>

#include "core/base/shown/outside_text.h"

namespace kernelift::cli {
namespace {

constexpr const char* kStyle = R"css(
:root{--bg:#fbfbfa;--ink:#1d2126;--dim:#68707a;--line:#dfe2e6;--card:#fff;--source:#2f6fde;--params:#c2590a;--compiler:#1b8a5a;
--baseline:#7a7f87;--bad:#b3261e;--add:#e3f4e8;--del:#fbe6e4}
@media(prefers-color-scheme:dark){:root{--bg:#15181c;--ink:#e4e7ea;--dim:#98a1ab;--line:#2e343b;--card:#1c2025;--source:#78a6ff;
--params:#f0a050;--compiler:#58c795;--baseline:#9aa2ab;--bad:#ff8a80;--add:#173324;--del:#3a1e1c}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1040px;margin:0 auto;padding:28px 20px 60px}h1{font-size:24px;margin:0;overflow-wrap:anywhere}
h2{font-size:17px;margin:34px 0 10px}details{margin-top:14px}summary{cursor:pointer;margin-bottom:10px}.dim{color:var(--dim)}.cards{display:flex;flex-wrap:wrap;gap:12px;margin-top:18px}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 16px;min-width:150px;flex:1}
.card b{display:block;font-size:24px;font-weight:650;font-variant-numeric:tabular-nums}.card span{color:var(--dim);font-size:13px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:5px 12px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--dim);font-weight:500;font-size:13px}
td,th{white-space:nowrap}td.ids{white-space:normal}td.text{white-space:normal;min-width:280px}td.n,th.n{text-align:right;padding-right:4px;padding-left:12px}td.n+td.text,th.n+th:not(.n){padding-left:12px}pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px;overflow:auto;max-height:70vh;font:13px/1.45 ui-monospace,monospace;margin:0}
pre .add{background:var(--add);display:block}pre .del{background:var(--del);display:block}pre .at{color:var(--dim);display:block}
svg{width:100%;height:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}svg text{fill:var(--dim);font:12px system-ui,sans-serif}
@media(max-width:640px){svg{min-width:640px}}pre code{display:block;width:max-content;min-width:100%;font:inherit}
.source{fill:var(--source);color:var(--source)}.params{fill:var(--params);color:var(--params)}.compiler{fill:var(--compiler);color:var(--compiler)}
.baseline{fill:var(--baseline);color:var(--baseline)}.bad{stroke:var(--bad);color:var(--bad)}.key{font-weight:600}
)css";

}  // namespace

std::string escape(const std::string& text) { return html_text(text); }

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string card(const std::string& value, const std::string& label) {
  return "<div class=\"card\"><b>" + escape(value) + "</b><span>" + escape(label) + "</span></div>";
}

std::string html_page(const std::string& title, const std::string& body) {
  return "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width,initial-scale=1\"><title>" +
         escape(title) + " – Kernelift</title><style>" + kStyle + "</style></head><body><main>" + body +
         "</main></body></html>\n";
}

}  // namespace kernelift::cli
