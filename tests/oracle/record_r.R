# Evaluates the calls that recording_r.py writes, one per line, with p, y, w of the input they name, and prints one
# JSON object for each. The functions below are the few statements of base R that the calls use beside glm, loess,
# lowess and isoreg themselves. Numbers travel as hexadecimal, which R reads exactly (its decimals it may not).

# Logits of scores clipped to [1e-12, 1 - 1e-12]; on the logit scale, because 1 - 1e-12 as a double is 2e-17 off, and its
# logit 2e-5.
logits <- function(p) pmin(pmax(qlogis(p), qlogis(1e-12)), -qlogis(1e-12))
tight <- glm.control(epsilon = 1e-15, maxit = 100)
direct <- loess.control(surface = "direct", statistics = "none")
limited <- function(g) pmin(pmax(g, 0), 1)

# glm keeps the covariance of its last step but one; begun where it ended, that is the covariance at the estimate.
settled <- function(fit) eval(
  update(fit, start = coef(fit), evaluate = FALSE), list(fit = fit), environment(formula(fit))
)

# Estimates, standard errors and Wald limits of a fit.
wald <- function(fit) {
  fit <- settled(fit)
  limits <- confint.default(fit)
  list(
    estimate = unname(coef(fit)), se = unname(sqrt(diag(vcov(fit)))),
    low = unname(limits[, 1]), high = unname(limits[, 2])
  )
}

# Standard errors from the sandwich: the covariance times the sum of squared scores times the covariance.
robust <- function(fit) {
  fit <- settled(fit)
  scores <- model.matrix(fit) * (weights(fit, "prior") * (fit$y - fitted(fit)))
  bread <- summary(fit, dispersion = 1)$cov.unscaled
  unname(sqrt(diag(bread %*% crossprod(scores) %*% bread)))
}

# Profile limits as they are defined: where the deviance, the other coefficient fitted anew, has risen by the 95 %
# point of chi-squared. (confint interpolates a spline through a few such points.)
root <- function(rise, from, step) uniroot(
  function(x) rise(x) - qchisq(0.95, 1), sort(c(from, from + step)), tol = 1e-13, maxiter = 1000, extendInt = "no"
)$root
# Calibration in the large without iterations that may run away: the one root of the score.
large <- function(p, y, w = 1) {
  z <- logits(p)
  uniroot(function(a) sum(w * (y - plogis(a + z))), c(-20, 20), tol = 1e-15, maxiter = 1000)$root
}
profile_large <- function(p, y) {
  z <- logits(p)
  at <- function(a) -2 * sum(y * plogis(a + z, log.p = TRUE) + (1 - y) * plogis(-a - z, log.p = TRUE))
  best <- large(p, y)
  rise <- function(a) at(a) - at(best)
  reach <- 8 / sqrt(sum(dlogis(best + z)))
  c(root(rise, best, -reach), root(rise, best, reach))
}
profile_cox <- function(p, y, which) {
  z <- logits(p)
  best <- glm(y ~ z, family = binomial, control = tight)
  rise <- function(x) {
    fit <- if (which == 2) glm(y ~ offset(x * z), family = binomial, control = tight)
    else glm(y ~ 0 + z + offset(rep(x, length(z))), family = binomial, control = tight)
    deviance(fit) - deviance(best)
  }
  reach <- 4 * sqrt(vcov(best)[which, which])
  c(root(rise, coef(best)[[which]], -reach), root(rise, coef(best)[[which]], reach))
}

# Summaries of |g - p|: ICI, E50, E90, Emax, and 100 times the mean square.
index <- function(g, p, type = 1) {
  d <- abs(g - p)
  quantiles <- unname(quantile(d, c(0.5, 0.9), type = type))
  list(ici = mean(d), e50 = quantiles[1], e90 = quantiles[2], emax = max(d), eci = 100 * mean(d^2))
}

# Isotonic fit at each row (isoreg pools equal scores: it sorts them by falling outcome), and CORP from it.
isotonic <- function(p, y) {
  order <- order(p, -y)
  fit <- numeric(length(p))
  fit[order] <- isoreg(p, y)$yf
  fit
}
brier <- function(q, y) mean((q - y)^2)
logarithmic <- function(q, y) mean(-log(ifelse(y == 1, q, 1 - q)))
corp <- function(p, y, score) {
  whole <- score(p, y)
  calibrated <- score(isotonic(p, y), y)
  base <- score(rep(mean(y), length(y)), y)
  list(mcb = whole - calibrated, dsc = base - calibrated, unc = base, score = whole)
}

# Hosmer-Lemeshow, groups cut at type-7 quantiles, the lowest score included; equal quantiles give fewer groups, and
# groups without rows are left out.
hosmer_lemeshow <- function(p, y, g) {
  group <- droplevels(cut(p, breaks = unique(quantile(p, seq(0, 1, 1 / g))), include.lowest = TRUE))
  n <- as.vector(table(group))
  observed <- as.vector(tapply(y, group, sum))
  expected <- as.vector(tapply(p, group, sum))
  chisq <- sum((observed - expected)^2 / expected) + sum((observed - expected)^2 / (n - expected))
  used <- length(n)
  list(
    statistic = chisq, n = n, observed = observed, expected = expected,
    p_value = pchisq(chisq, used, lower.tail = FALSE),
    p_value_in_sample = if (used > 2) pchisq(chisq, used - 2, lower.tail = FALSE) else NA_real_
  )
}

# Murphy by bins with the terms within them (Stephenson, Coelho and Jolliffe 2008).
murphy <- function(p, y, m) {
  bin <- cut(p, breaks = (0:m) / m, include.lowest = TRUE)
  mean_of <- function(x) ave(x, bin)
  c(
    reliability = mean((mean_of(p) - mean_of(y))^2), resolution = mean((mean_of(y) - mean(y))^2),
    uncertainty = mean(y) * (1 - mean(y)), within_variance = mean((p - mean_of(p))^2),
    within_covariance = 2 * mean((y - mean_of(y)) * (p - mean_of(p))), score = mean((p - y)^2)
  )
}

spiegelhalter <- function(p, y, w = rep(1, length(p))) {
  z <- sum(w * (y - p) * (1 - 2 * p)) / sqrt(sum(w^2 * (1 - 2 * p)^2 * p * (1 - p)))
  c(z, 2 * pnorm(-abs(z)))
}
observed_expected <- function(p, y, w = rep(1, length(p))) {
  ratio <- sum(w * y) / sum(w * p)
  ratio * exp(c(0, -1, 1) * qnorm(0.975) * sqrt(sum(w^2 * (y - p)^2)) / sum(w * y))
}

# Logistic regression whose coefficients vary among levels, searched to the end: coefficients, covariance of (intercept,
# slope), and what each level adds. Row i, from 0, belongs to level i % 6 of g and i // 6 % 4 of h.
mixed <- function(formula, p, y) {
  i <- seq_along(p) - 1
  rows <- data.frame(y = y, z = logits(p), g = factor(i %% 6), h = factor(i %/% 6 %% 4))
  control <- lme4::glmerControl(
    optimizer = "bobyqa", tolPwrss = 1e-13, check.conv.grad = "ignore", optCtrl = list(rhoend = 1e-10, maxfun = 1e6)
  )
  fit <- lme4::glmer(formula, rows, family = binomial, control = control)
  effects <- lme4::ranef(fit, condVar = FALSE)
  columns <- names(effects)[order(names(effects))]
  list(
    common = unname(lme4::fixef(fit)), log_likelihood = as.numeric(logLik(fit)),
    covariances = lapply(columns, function(c) as.numeric(lme4::VarCorr(fit)[[c]])),
    effects = lapply(columns, function(c) as.numeric(t(as.matrix(effects[[c]]))))
  )
}

number <- function(x) {
  if (is.null(x)) return("null")
  if (is.nan(x)) return('"NaN"')
  if (is.na(x)) return("null")
  if (is.infinite(x)) return(if (x > 0) '"Infinity"' else '"-Infinity"')
  sprintf("%.17g", x)
}
text <- function(x) paste0('"', gsub("\n", " ", gsub('(["\\\\])', "\\\\\\1", x)), '"')
json <- function(x) {
  if (!is.list(x) && is.null(names(x)) && length(x) == 1) return(number(x))
  inside <- vapply(as.list(x), json, "")
  if (is.null(names(x))) return(paste0("[", paste(inside, collapse = ", "), "]"))
  paste0("{", paste0(vapply(names(x), text, ""), ": ", inside, collapse = ", "), "}")
}

given <- strsplit(readLines(commandArgs(TRUE)[1]), "\t")
values <- list()
for (line in given) values[[line[1]]][[line[2]]] <- as.numeric(strsplit(line[3], " ")[[1]])
for (call in strsplit(readLines(commandArgs(TRUE)[2]), "\t")) {
  scope <- list2env(values[[call[1]]], parent = globalenv())
  cat(tryCatch(
    paste0('{"value": ', json(suppressMessages(suppressWarnings(eval(parse(text = call[2]), scope)))), "}"),
    error = function(e) paste0('{"value": null, "error": ', text(conditionMessage(e)), "}")
  ), "\n", sep = "")
}
cat(sprintf('{"R": "%s", "rms": "%s", "lme4": "%s", "MASS": "%s"}\n', getRversion(),
  tryCatch(as.character(packageVersion("rms")), error = function(e) ""),
  tryCatch(as.character(packageVersion("lme4")), error = function(e) ""),
  tryCatch(as.character(packageVersion("MASS")), error = function(e) "")))
