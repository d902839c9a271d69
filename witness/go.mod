module github.com/gobfi/bfi/witness

go 1.26.0
