// Parses every statement of a file (one JSON object a line: name, text) with ANTLR's grammar of PL/SQL, and mutants of each shape.
//
//   node grammar.mjs STATEMENTS.jsonl [FILE]      only the texts of one file of the catalogue
//
// Prints what is refused, with line and column, and the share of mutants that are. Ends with 1 if a statement is refused, or if fewer
// than nine of ten mutants of a catalogue file are. Equal texts are parsed once: the grammar is slow. Two threads take the
// next text each; a grammar is the faster the more it has seen.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { CharStream, CommonTokenStream, PredictionMode } from "antlr4";
import PlSqlLexer from "@griffithswaite/ts-plsql-parser/antlr/PlSqlLexer.js";
import PlSqlParser from "@griffithswaite/ts-plsql-parser/antlr/PlSqlParser.js";

const MUTANTS = 10;

/** A statement as a script has it: PL/SQL brings its semicolon along. */
const asScript = (text) => (/^\s*(begin|declare|create (or replace )?(procedure|function))\b/i.test(text) ? `${text}\n/\n` : `${text};\n`);

const silent = { syntaxError() {}, reportAmbiguity() {}, reportAttemptingFullContext() {}, reportContextSensitivity() {} };

function lex(text, listener = silent) {
  const lexer = new PlSqlLexer(new CharStream(asScript(text)));
  lexer.removeErrorListeners();
  lexer.addErrorListener(listener);
  const tokens = new CommonTokenStream(lexer);
  tokens.fill();
  return tokens;
}

/** Texts with the same kinds of tokens are the same to the grammar. */
const shape = (text) => lex(text).tokens.filter((token) => token.channel === 0).map((token) => token.type).join(" ");

function parse(text, mode) {
  let first;
  const listener = {
    ...silent,
    syntaxError(_recognizer, _symbol, line, column, message) {
      first ??= `${line}:${column} ${message.slice(0, 120)}`;
    },
  };
  const parser = new PlSqlParser(lex(text, listener));
  parser.removeErrorListeners();
  parser.addErrorListener(listener);
  parser._interp.predictionMode = mode;
  parser.sql_script();
  return first;
}

/**
 * What the grammar is known to lack, in words that it has: numbers as values of a session's settings (the second parser takes them), and
 * ALTER SYSTEM, of which CANCEL SQL and CHECKPOINT are used (Oracle Database SQL Language Reference 19c, "ALTER SYSTEM", end_session_clauses
 * and the statement's own diagram).
 */
const LACKING = [
  [/^(alter session set [\s\S]*)$/, (statement) => statement.replace(/= \d+/g, "= word")],
  [/^(?:--.*\n)*alter system checkpoint (local|global)$/, () => "alter session set word = word"],
  [/^alter system cancel sql ('[^']*')$/, (statement) => statement.replace("alter system cancel sql", "alter session set word =")],
];
const inItsWords = (text) => LACKING.reduce((text, [lacking, other]) => (lacking.test(text) ? other(text) : text), text);

/** The first thing that the grammar refuses in a text, or nothing. The quick way of prediction is sure of what it accepts. */
const refused = (text) => parse(inItsWords(text), PredictionMode.SLL) && parse(inItsWords(text), PredictionMode.LL);

/** Texts of `execute immediate` that are one literal: statements, too. */
const inner = (text) => [...text.matchAll(/execute immediate\s+'((?:[^']|'')*)'\s*(?:;|into)/gi)].map((match) => match[1].replaceAll("''", "'"));

/**
 * The loop of the harness is the same in every routine and long: where another routine has brought it along already, only what a workload
 * puts into it is parsed, its declarations and its body in a loop. A grammar without context accepts the whole if it accepts the parts.
 */
function unframed(text, seen) {
  const found = text.match(/^(create or replace procedure )\S+(\([\s\S]*v_text varchar2\(32767\) := '';\n)([\s\S]*?)(begin\n  v_begin := [\s\S]*?c_modulus;\n)([\s\S]*?)(    end loop;\n    v_gone := systimestamp[\s\S]*)$/);
  if (!found) return text;
  const frame = [found[2], found[4], found[6]].join("");
  if (!seen.has(frame)) {
    seen.add(frame);
    return text;
  }
  return `${found[1]}p as\n${found[3]}begin\n  for v_op in 1 .. 2 loop\n${found[5]}  end loop;\nend;\n-- PL/SQL`;
}

/** Comments are not part of a statement: what is broken there breaks nothing. */
const bare = (text) => text.replace(/\/\*[\s\S]*?\*\/|--.*/g, "");

/** Ways to break a statement: each takes away or changes one thing that it needs. */
const MUTATIONS = [
  (t) => t.replace(/;(?=\s*\n)/, ""),
  (t) => t.replace(/\bend if\b/, "end"),
  (t) => t.replace(/\bthen\b/, ""),
  (t) => t.replace(/\bloop\b/, "lop"),
  (t) => t.replace(/:=/, ":"),
  (t) => t.replace(/\(/, ""),
  (t) => t.replace(/\bfrom\b/, "form"),
  (t) => t.replace(/,/, ",,"),
  (t) => t.replace(/\)(?![\s\S]*\))/, ""),
  (t) => t.replace(/\bwhere\b/, "were ="),
  (t) => t.replace(/\bas\b\s*\n/, "as as\n"),
  (t) => t.replace(/\bbegin\b/, ""),
  (t) => t.replace(/\bset\b/, "sett"),
  (t) => t.replace(/\bexecute immediate\b/, "execute"),
  (t) => t.replace(/\bcommit write\b/, "commit werk"),
  (t) => t.replace(/\bselect\b/, "selct"),
  (t) => t.replace(/\bvalues\b/, "value s"),
  (t) => t.replace(/\bcreate\b/, "creat"),
  (t) => t.replace(/\bupdate\b/, "updte"),
  (t) => t.replace(/'(?=[^']*$)/, ""),
];

function mutants(texts, count) {
  const found = new Set();
  for (const mutate of [...MUTATIONS, ...MUTATIONS.map(later)]) {
    if (found.size >= count) break;
    for (const text of texts) {
      const mutant = mutate(text);
      if (mutant !== text && !texts.includes(mutant) && !found.has(mutant)) {
        found.add(mutant);
        break;
      }
    }
  }
  return [...found];
}

/** Breaks what comes after the middle of a text: a file of few texts has too few first places for its mutants. */
const later = (mutate) => (text) => {
  const middle = text.indexOf("\n", text.length / 2) + 1;
  return text.slice(0, middle) + mutate(text.slice(middle));
};

/** The texts of which each shape is one. */
function shapes(statements) {
  const all = statements.flatMap(({ name, file, text }) => [{ name, file, text }, ...inner(text).map((text) => ({ name: `${name}, execute immediate`, file, text }))]);
  const distinct = [...new Map(all.map((statement) => [statement.text, statement])).values()];
  const frames = new Set();
  const parts = distinct.map((statement) => ({ ...statement, text: unframed(statement.text, frames) }));
  const kept = [...new Map(parts.map((part) => [shape(part.text), part])).values()];
  console.log(`${all.length} statements, ${distinct.length} different, of ${kept.length} shapes`);
  return kept;
}

/** The mutants of a file, of its shortest texts: a mutant is parsed from the beginning. */
function broken(parts, file) {
  const texts = parts.filter((part) => part.file === file).map((part) => bare(part.text)).sort((a, b) => a.length - b.length);
  return mutants(texts, MUTANTS).map((text) => ({ file, text, isMutant: true }));
}

/** Lets threads parse the texts, each the next one that is left, and keeps with each text why it is refused. */
const parsed = (texts, threads) =>
  Promise.all(
    Array.from({ length: threads }, () => new Promise((done, failed) => {
      const worker = new Worker(new URL(import.meta.url));
      let current;
      const next = () => {
        current = texts.find((text) => !text.isTaken);
        if (!current) return worker.terminate().then(done);
        current.isTaken = true;
        worker.postMessage(current.text);
      };
      worker.on("message", ({ why, seconds }) => {
        Object.assign(current, { why, seconds });
        next();
      });
      worker.on("error", failed);
      next();
    })),
  );

/** Says of a file what is refused and how many mutants are; false if that is not as it should be. */
function told(file, texts) {
  const own = texts.filter((text) => text.file === file);
  const [mutants, parts] = [own.filter((text) => text.isMutant), own.filter((text) => !text.isMutant)];
  const [refused, passed] = [parts.filter((text) => text.why), mutants.filter((text) => !text.why)];
  refused.forEach(({ name, why }) => console.log(`refused: ${name}: ${why}`));
  passed.forEach(({ text }) => console.log(`a mutant is accepted: ${text}`));
  const seconds = own.reduce((sum, text) => sum + text.seconds, 0);
  console.log(`${file}: ${parts.length} shapes, ${mutants.length - passed.length} of ${mutants.length} mutants refused, ${seconds.toFixed(0)} s`);
  // A file of one or two texts has fewer places that can be broken.
  const fewest = Math.min(MUTANTS, 5 * parts.length);
  return refused.length === 0 && mutants.length >= fewest && passed.length * 10 <= mutants.length;
}

if (isMainThread) {
  const [file, only] = process.argv.slice(2);
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  const statements = lines.map((line) => JSON.parse(line)).filter((statement) => !only || statement.file === only);
  const began = Date.now();
  const parts = shapes(statements).sort((a, b) => b.text.length - a.text.length);
  const files = [...new Set(parts.map((part) => part.file))].sort();
  const texts = [...parts, ...files.flatMap((file) => broken(parts, file))];
  await parsed(texts, Math.min(2, availableParallelism()));
  const good = files.filter((file) => told(file, texts));
  console.log(`${files.length - good.length} of ${files.length} files wrong, ${Math.round((Date.now() - began) / 1000)} s`);
  process.exit(good.length === files.length ? 0 : 1);
} else {
  parentPort.on("message", (text) => {
    const began = Date.now();
    const why = refused(text);
    parentPort.postMessage({ why, seconds: (Date.now() - began) / 1000 });
  });
}
