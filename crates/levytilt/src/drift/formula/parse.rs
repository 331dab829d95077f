//! Parse a formula into a list of expressions in which operands come before what is made of them.

use super::token::{Kind, Source, Token, tokens};
use crate::Result;

/// Functions of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Function {
    Sin,
    Cos,
    Tan,
    Exp,
    Log,
    Sqrt,
    Abs,
    Tanh,
    /// 0 below 0, 1 from 0 on.
    Step,
}

/// Operators and functions of two arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Min,
    Max,
}

/// Names of the functions of one argument.
pub(super) const FUNCTIONS: [(&str, Function); 9] = [
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("tan", Function::Tan),
    ("exp", Function::Exp),
    ("log", Function::Log),
    ("sqrt", Function::Sqrt),
    ("abs", Function::Abs),
    ("tanh", Function::Tanh),
    ("step", Function::Step),
];

/// Names of the functions of two arguments.
pub(super) const PAIRS: [(&str, Binary); 2] = [("min", Binary::Min), ("max", Binary::Max)];

/// An expression; operands are places in the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    Number(f64),
    Name(String),
    Negate(usize),
    Call(Function, usize),
    Pair(Binary, usize, usize),
}

/// An expression and the characters that it covers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression {
    pub form: Form,
    pub span: (usize, usize),
}

/// Whether a name has a meaning of its own and cannot be a state, an input or a parameter.
pub(super) fn is_reserved(name: &str) -> bool {
    matches!(name, "pi" | "t") || is_function(name)
}

pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, _)| *known == name) || PAIRS.iter().any(|(known, _)| *known == name)
}

/// Deepest nesting of parentheses, signs and powers.
const DEEPEST: usize = 200;

/// The expressions of a formula; the last one is the whole.
pub(super) fn parse(source: &Source) -> Result<Vec<Expression>> {
    let mut parser = Parser { source, tokens: tokens(source)?, next: 0, depth: 0, list: Vec::new() };
    if parser.peek().kind == Kind::End {
        return Err(source.error(0, "the formula is empty; write a drift such as theta*(mu - x)"));
    }
    parser.sum()?;
    match &parser.peek().kind {
        Kind::End => Ok(parser.list),
        Kind::Sign(')') => Err(parser.error("unmatched closing parenthesis; remove it or open one before it")),
        Kind::Sign(',') => Err(parser.error("a comma belongs between the arguments of min or max")),
        _ => Err(parser.error("expected an operator + - * / ^ before this; products need their *")),
    }
}

struct Parser<'a> {
    source: &'a Source,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    list: Vec<Expression>,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next]
    }

    fn take(&mut self) -> Token {
        let token = self.tokens[self.next].clone();
        // The end stays where it is.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn takes(&mut self, sign: char) -> bool {
        let there = self.peek().kind == Kind::Sign(sign);
        if there {
            self.take();
        }
        there
    }

    fn error(&self, problem: &str) -> crate::Error {
        self.source.error(self.peek().start, problem)
    }

    fn push(&mut self, form: Form, span: (usize, usize)) -> usize {
        self.list.push(Expression { form, span });
        self.list.len() - 1
    }

    fn pair(&mut self, operator: Binary, a: usize, b: usize) -> usize {
        let span = (self.list[a].span.0, self.list[b].span.1);
        self.push(Form::Pair(operator, a, b), span)
    }

    /// Terms with + and − between them.
    fn sum(&mut self) -> Result<usize> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek().kind {
                Kind::Sign('+') => Binary::Add,
                Kind::Sign('-') => Binary::Subtract,
                _ => return Ok(left),
            };
            self.take();
            let right = self.product()?;
            left = self.pair(operator, left, right);
        }
    }

    /// Factors with * and / between them.
    fn product(&mut self) -> Result<usize> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek().kind {
                Kind::Sign('*') => Binary::Multiply,
                Kind::Sign('/') => Binary::Divide,
                _ => return Ok(left),
            };
            self.take();
            let right = self.signed()?;
            left = self.pair(operator, left, right);
        }
    }

    /// A power, perhaps with signs before it: −x^2 is −(x^2). Everything that nests passes here.
    fn signed(&mut self) -> Result<usize> {
        if self.depth == DEEPEST {
            return Err(self.error(&format!("the formula is nested more than {DEEPEST} levels deep; split it up")));
        }
        self.depth += 1;
        let start = self.peek().start;
        let found = if self.takes('-') {
            let operand = self.signed()?;
            let end = self.list[operand].span.1;
            self.push(Form::Negate(operand), (start, end))
        } else if self.takes('+') {
            self.signed()?
        } else {
            let base = self.atom()?;
            if self.takes('^') {
                // Powers are read from the right, and −1 may be an exponent.
                let exponent = self.signed()?;
                self.pair(Binary::Power, base, exponent)
            } else {
                base
            }
        };
        self.depth -= 1;
        Ok(found)
    }

    fn atom(&mut self) -> Result<usize> {
        let token = self.peek().clone();
        let span = (token.start, token.end);
        match token.kind {
            Kind::Number(value) => {
                self.take();
                Ok(self.push(Form::Number(value), span))
            }
            Kind::Name(name) => {
                self.take();
                if is_function(&name) || self.peek().kind == Kind::Sign('(') {
                    return self.call(&name, span);
                }
                Ok(self.push(Form::Name(name), span))
            }
            Kind::Sign('(') => {
                self.take();
                let inner = self.sum()?;
                self.close(span.0)?;
                self.list[inner].span = (span.0, self.tokens[self.next - 1].end);
                Ok(inner)
            }
            Kind::End => Err(self.error("the formula ends here; expected a number, a name or a parenthesis")),
            Kind::Sign(_) => Err(self.error("expected a number, a name or a parenthesis here")),
        }
    }

    /// The closing parenthesis of the one at `open`.
    fn close(&mut self, open: usize) -> Result<()> {
        if self.takes(')') {
            return Ok(());
        }
        match self.peek().kind {
            Kind::End => Err(self.source.error(open, "this parenthesis is never closed")),
            Kind::Sign(',') => Err(self.error("a comma belongs between the arguments of min or max")),
            _ => Err(self.error("expected an operator + - * / ^ or ) before this; products need their *")),
        }
    }

    /// The arguments of a function whose name was just read.
    fn call(&mut self, name: &str, (start, _): (usize, usize)) -> Result<usize> {
        let open = self.peek().start;
        let one = FUNCTIONS.iter().find(|(known, _)| *known == name);
        let two = PAIRS.iter().find(|(known, _)| *known == name);
        if one.is_none() && two.is_none() {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(n, _)| *n).chain(PAIRS.iter().map(|(n, _)| *n)).collect();
            let problem = format!("{name} is not a function; known are {}. A product needs its *", known.join(" "));
            return Err(self.source.error(start, problem));
        }
        if !self.takes('(') {
            return Err(self.source.error(start, format!("{name} is a function: write {name}(…)")));
        }
        let first = self.sum()?;
        let made = match (one, two) {
            (Some((_, function)), _) => Form::Call(*function, first),
            (None, Some((_, operator))) => {
                if !self.takes(',') {
                    return Err(self.error(&format!("{name} takes two arguments with a comma between them")));
                }
                Form::Pair(*operator, first, self.sum()?)
            }
            (None, None) => unreachable!("checked above"),
        };
        if self.peek().kind == Kind::Sign(',') {
            let count = if one.is_some() { "one argument" } else { "two arguments" };
            return Err(self.error(&format!("{name} takes only {count}")));
        }
        self.close(open)?;
        let end = self.tokens[self.next - 1].end;
        Ok(self.push(made, (start, end)))
    }
}
