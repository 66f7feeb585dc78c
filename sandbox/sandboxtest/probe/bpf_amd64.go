package main

const sysBPF = 321
