//! The formulas of the findings: arithmetic, folds and figures looked up, by recursive descent.

/// A parsed formula.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    Number(f64),
    /// `at`, `best`, `worst`, `speed`, `thru`, `text`, `attr`.
    Call(Call),
    /// `mean`, `gmean`, `min`, `max`.
    Fold(String, Vec<Formula>),
    Binary(char, Box<Formula>, Box<Formula>),
}

/// A figure looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub texts: Vec<String>,
    pub named: Vec<(String, f64)>,
}

impl Call {
    /// A named argument.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

impl Formula {
    /// The look-up, if it is one.
    pub fn call(&self) -> Option<&Call> {
        match self {
            Formula::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Calls `see` with every part, the outermost first.
    pub fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Formula)) {
        see(self);
        match self {
            Formula::Fold(_, parts) => parts.iter().for_each(|part| part.visit(see)),
            Formula::Binary(_, left, right) => {
                [left, right].into_iter().for_each(|part| part.visit(see))
            }
            Formula::Number(_) | Formula::Call(_) => {}
        }
    }
}

/// Parses a formula.
pub fn parse(text: &str) -> Result<Formula, String> {
    let mut parser = Parser { rest: text };
    let formula = parser.sum()?;
    match parser.peek() {
        None => Ok(formula),
        Some(_) => Err(format!("cannot read '{}' in {text}", parser.rest)),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) {
            Ok(())
        } else {
            Err(format!("'{wanted}' expected before '{}'", self.rest))
        }
    }

    fn binary(
        &mut self,
        operators: &[char],
        part: fn(&mut Self) -> Result<Formula, String>,
    ) -> Result<Formula, String> {
        let mut left = part(self)?;
        while let Some(operator) = self.peek().filter(|found| operators.contains(found)) {
            self.take(operator);
            left = Formula::Binary(operator, Box::new(left), Box::new(part(self)?));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Formula, String> {
        self.binary(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Formula, String> {
        self.binary(&['*', '/'], Self::factor)
    }

    fn factor(&mut self) -> Result<Formula, String> {
        match self.peek() {
            Some('(') => {
                self.take('(');
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some('-') => {
                self.take('-');
                Ok(Formula::Binary('-', Box::new(Formula::Number(0.0)), Box::new(self.factor()?)))
            }
            Some(first) if first.is_ascii_digit() || first == '.' => {
                self.number().map(Formula::Number)
            }
            Some(first) if first.is_ascii_alphabetic() => self.function(),
            _ => Err(format!("a figure expected before '{}'", self.rest)),
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        self.peek();
        let exponent = |at: usize| self.rest[..at].ends_with(['e', 'E']);
        let part = |(at, c): &(usize, char)| {
            c.is_ascii_digit() || ".eE".contains(*c) || ("+-".contains(*c) && exponent(*at))
        };
        let length = self.rest.char_indices().take_while(part).count();
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        text.parse().map_err(|_| format!("'{text}' is not a number"))
    }

    fn word(&mut self) -> &'a str {
        self.peek();
        let length =
            self.rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        word
    }

    fn function(&mut self) -> Result<Formula, String> {
        let name = self.word().to_string();
        self.expect('(')?;
        match name.as_str() {
            "mean" | "gmean" | "min" | "max" => {
                let mut parts = vec![self.sum()?];
                while self.take(',') {
                    parts.push(self.sum()?);
                }
                self.expect(')')?;
                Ok(Formula::Fold(name, parts))
            }
            _ => self.call(name),
        }
    }

    fn call(&mut self, name: String) -> Result<Formula, String> {
        let mut call = Call { name, texts: Vec::new(), named: Vec::new() };
        loop {
            if self.take('\'') {
                let end = self.rest.find('\'').ok_or("a text without an end")?;
                call.texts.push(self.rest[..end].to_string());
                self.rest = &self.rest[end + 1..];
            } else {
                let key = self.word().to_string();
                self.expect('=')?;
                call.named.push((key, self.number()?));
            }
            if !self.take(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(Formula::Call(call))
    }
}

#[test]
fn formulas_are_read_with_their_precedence() {
    let number = |value| Box::new(Formula::Number(value));
    let product = Formula::Binary('*', number(2.0), number(1e9));
    assert_eq!(parse("1 + 2*1e9"), Ok(Formula::Binary('+', number(1.0), Box::new(product))));
    let call = parse("at('p', 'T1','m',jobs=16,tb=24)").unwrap();
    let call = call.call().unwrap();
    assert_eq!((call.texts.len(), call.number("tb")), (3, Some(24.0)));
    assert!(parse("1 +").is_err() && parse("(1").is_err() && parse("1 2").is_err());
}
