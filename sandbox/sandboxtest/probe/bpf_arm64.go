package main

const sysBPF = 280
